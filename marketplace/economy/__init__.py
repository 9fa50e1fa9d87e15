"""What is owned, traded and owed, as plain Python: goods, ledger, market, credit, production, mail.

Nothing here knows Django, the clock's rules or who plays a firm. Money comes in and goes out as whole
micro-dollars, coffee as whole kilograms, time as whole minutes since the start of the run.
"""
