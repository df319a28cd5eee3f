"""Whether commands keep ``--time-limit`` and ``--memory`` on theories and files made to overstep them."""
