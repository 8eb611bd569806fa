-- Lets one node at a time give ids to kinds; readers are not held up.
lock table dure_kind in share row exclusive mode
