"""The options of all commands: their names, the values they take, the commands and engines that use them."""
