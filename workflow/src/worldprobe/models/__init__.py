"""Language models behind one interface; the only place that loads them."""
