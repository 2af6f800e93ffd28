"""Peers: kept whole, replaced whole."""

from dataclasses import replace

from mesh import stores
from mesh.storage.database import Database
from mesh.storage.peer_store import DiskPeerStore
from mesh.stores import PeerRow


async def test_a_peer_is_kept_and_replaced(database: Database) -> None:
    store: stores.PeerStore = DiskPeerStore(database)
    ada = PeerRow(
        install_id="install:" + "a" * 32,
        name="Ada\u2019s laptop",
        public_keys=("aa" * 32, "bb" * 32),
        addresses=("https://192.0.2.1:7420",),
        last_seen_ms=5,
    )
    ben = replace(ada, install_id="install:" + "0" * 32, public_keys=("cc" * 32,), addresses=())
    await store.put(ada)
    await store.put(ben)
    assert await store.all() == (ben, ada)
    moved = replace(ada, addresses=("https://192.0.2.9:7420",), last_seen_ms=9)
    await store.put(moved)
    assert await store.all() == (ben, moved)
