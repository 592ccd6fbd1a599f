"""Several instances of one application, of which the leader is killed again and again."""
