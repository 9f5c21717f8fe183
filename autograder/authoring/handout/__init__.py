"""What a learner receives: one folder an exercise, and the kit that checks them."""
