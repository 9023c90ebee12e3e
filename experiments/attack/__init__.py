"""Attack: can a metric be made to prefer a caption that is provably false?"""
