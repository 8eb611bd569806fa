"""What a node holds of a limit: permits are used, given back, or lapse, and none gets lost."""

from dure.engine.gates import Lease, Permits


def holding(*sizes: int) -> Permits:
    gate = Permits(("api",), {})
    gate.leases += [Lease({"api": place}, size, size, 1.0) for place, size in enumerate(sizes)]
    return gate


def test_what_a_claim_did_not_find_comes_back_though_its_lease_was_empty_meanwhile() -> None:
    """X8: the rest of the node looks after its leases while a claim is under way."""
    gate = holding(15)

    gate.take(15)
    assert [] == gate.lapsed(0.5)
    gate.untake(14)

    assert 14 == gate.room()


def test_what_comes_back_too_late_to_be_used_goes_back_to_the_store() -> None:
    """X8"""
    gate = holding(15)

    gate.take(10)
    before = gate.lapsed(2.0)
    gate.untake(9)
    after = gate.lapsed(2.0)

    assert [5] == [lease.left for lease in before]
    assert [9] == [lease.left for lease in after]
    assert 0 == gate.room()
    assert [] == gate.leases


def test_a_claim_runs_on_the_lease_it_was_taken_from() -> None:
    """X8: or what it really used would be settled where it was not booked."""
    gate = holding(1, 5)

    gate.take(1)
    gate.untake(0)

    latest = gate.latest()
    assert latest is not None
    assert {"api": 0} == latest.slots
