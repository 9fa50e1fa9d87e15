"""Players: whoever decides for a firm. One file a kind; `registry` names them."""
