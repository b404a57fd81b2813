as each-quiet, with a lost request
