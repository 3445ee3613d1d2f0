UPDATE _tenure SET origin = here()
