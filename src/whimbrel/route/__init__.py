"""Which links are followed.

The *router* (`router.py`) decides for each link of a page, by its kind and nofollow (`link_rule.py`), scope, filters
and limits: each of these is a function of the link and its page. It decides once per URL and remembers that for a
while. A link that is followed is remembered only when the visit that brought it is settled (`Router.remember`): a visit
that never is leaves no trace. The *distributor* (`distributor.py`) asks the router on the way of each visit, and hands
on a *route*: what was found, what limits cut, and how many links were refused for which reason. `NoRoute` takes its
place where links are recorded and not followed, as in an import. Nothing is queued here; URL-seen and the queues are
the frontier's, and `effect` brings the two together.
"""
