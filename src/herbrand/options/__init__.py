"""Options of all commands: names, kinds of values, and the commands and engines that use them."""
