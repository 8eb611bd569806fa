"""The five stages: each with its own queue, workers and figures, and what a task carries."""

from typing import Any

from dure.testing import in_virtual_time


@in_virtual_time
async def test_every_product_is_saved_once_with_what_its_page_says(scene: Any) -> None:
    """C1."""
    async with scene(95) as s:
        await s.rig.run_until_idle()

        saved = await s.products()
        assert set(saved.values()) == {1}
        assert len(saved) == 95
        now = s.box.clock.now()
        rows = await s.rig.sql("select url, sku, name, price, stock, colour from catalog_product")
        for url, *fields in rows:
            expected = s.box.shop.site.product(int(url.rsplit("/", 1)[1]), now)
            assert fields == [
                expected.sku,
                expected.name,
                expected.price,
                expected.stock,
                expected.colour,
            ]
        assert (await s.status()).status == "done"
