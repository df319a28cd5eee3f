"""The studio and the service: HTTP over the public Python interface.

Work runs in child processes that are forked from one prepared process (:mod:`.nursery`), so that a request or
a run can be cut at its limit, or cancelled, without effect on others. ``service.py`` is ``herbrand serve``,
``studio_server.py`` is ``herbrand studio``; ``json_requests.py`` turns a JSON request into a call and its
answer.
"""
