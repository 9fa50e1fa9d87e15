"""Seats: firms that are played from outside, by a link: by a person at a browser or a program over HTTP.

`door` is all that a seat may know, `verbs` all that it may do; pages, sockets and the HTTP seat have nothing else.
"""
