"""A news site with the eight economy sections: lists, cursors, articles, edits, removals."""
