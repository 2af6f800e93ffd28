"""The signed card of a node, checked as a stranger would."""

import json

from mesh.core import canonical, ids
from mesh.core.identity import KeyChain, SigningKey, verify
from mesh.http.well_known import document


def test_the_card_is_signed_over_its_exact_bytes() -> None:
    key = SigningKey.from_seed(b"k" * 32)
    chain = KeyChain(keys=(key.public,))
    card = json.loads(document(chain=chain, key=key, version="0.1.0", link_versions=[1]))
    payload = ids.unb64(card["payload"], "payload")
    said = canonical.decode_object(payload)
    assert canonical.is_canonical(payload, said)
    assert said == {
        "install_id": chain.install_id,
        "keys": [ids.b64(key.public)],
        "key_signatures": [],
        "link_versions": [1],
        "version": "0.1.0",
    }
    signature = ids.unb64(card["signature"], "signature")
    assert verify(key.public, "node", payload, signature)
    assert not verify(key.public, "node", payload + b" ", signature)
