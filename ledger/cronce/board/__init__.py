"""The board: the runs of every job as a calendar, on one HTML page that needs nothing else, or on a dashboard.

`calendar`, `fragments`, `page` and `widget` are pure: rows become days, and days become HTML text. `reading` reads the
rows of a board, and `newest_rows` one row of each of many jobs. The browser gets the files beside them: `runs.css` for
both, `page.html`, `board.css` and `board.js` for the page, `widget.css` for the widget.
"""
