"""From an answer to facts: what it is worth, what the document says, and where it leads.

The *parser* takes a visit with its fingerprint (`parser.py`). A document is decoded under limits, given to the *module*
for its type (`dispatch.py`) and becomes a *page*: title, words, directives, links made absolute. Modules read HTML
(`html.py`: the tree, within its limit on memory, in `html_tree.py`; what elements say in `html_links.py`; the words in
`html_text.py`), XML (`xml.py`, `sitemap.py`, `feed.py`) and text (`text.py`). `link_list.py` has the limit on links,
`charset.py` finds out how a text is encoded, `robots_directive.py` what pages ask of crawlers in robots meta tags and
X-Robots-Tag. A document that takes the process down is read only once: `crash_note.py`, and `trial.py` for the second
time. A user's parser can have more. `api.py` has the contract of modules and what they make.

Nothing here is remembered from one document to the next but where links lead, and nothing that a server sends raises:
trouble is a word on the page or the reason of the outcome. Whether links are followed, and whether the document is a
duplicate, is decided later (`route`, `effect`).
"""
