"""Encryption of Matrix by packages of PyPI, as a peer: vodozemac's ratchets, verification and backups, matrix-nio's
files, and signed JSON as Synapse has it."""

import hashlib
import json
import os
import tempfile

import vodozemac
from canonicaljson import encode_canonical_json
from cryptography.hazmat.primitives import hashes, hmac, padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from nio.crypto.attachments import decrypt_attachment, encrypt_attachment
from nio.crypto.key_export import decrypt_and_read, encrypt_and_save
from nio.exceptions import EncryptionError
from signedjson.key import decode_signing_key_base64, decode_verify_key_bytes, get_verify_key
from signedjson.sign import SignatureVerifyException, sign_json, verify_signed_json

from peer import Refused, decode, encode, serve

PICKLE_KEY = bytes(32)
curve25519 = vodozemac.Curve25519PublicKey.from_base64


class Others:
    def __init__(self):
        self._accounts, self._sessions, self._outbound, self._inbound, self._sas = {}, {}, {}, {}, {}

    # Olm

    def olm_account(self, account, keys):
        made = self._accounts[account] = vodozemac.Account()
        made.generate_one_time_keys(keys)
        made.generate_fallback_key()
        return {"curve25519": made.curve25519_key.to_base64(), "ed25519": made.ed25519_key.to_base64(),
                "keys": [key.to_base64() for key in made.one_time_keys.values()],
                "fallback": next(iter(made.fallback_key.values())).to_base64()}

    def olm_open(self, account, session, identity, key):
        made = self._accounts[account].create_outbound_session(curve25519(identity), curve25519(key))
        self._sessions[session] = made
        return {"id": made.session_id}

    def olm_accept(self, account, session, sender, body):
        message = vodozemac.PreKeyMessage.from_base64(body)
        made, text = self._accounts[account].create_inbound_session(curve25519(sender), message)
        self._sessions[session] = made
        return {"id": made.session_id, "text": encode(text)}

    def olm_encrypt(self, session, text):
        kind, body = self._sessions[session].encrypt(decode(text)).to_parts()
        return {"type": kind, "body": encode(body)}

    def olm_decrypt(self, session, type, body):
        known = self._sessions[session]
        if type == 0 and not known.session_matches(vodozemac.PreKeyMessage.from_base64(body)):
            raise Refused("no session")
        return {"text": encode(known.decrypt(vodozemac.AnyOlmMessage.from_parts(type, decode(body))))}

    def olm_store(self, session):
        state = self._sessions[session].pickle(PICKLE_KEY)
        self._sessions[session] = vodozemac.Session.from_pickle(state, PICKLE_KEY)

    # Megolm

    def megolm_make(self, session, index):
        made = self._outbound[session] = vodozemac.GroupSession()
        self.megolm_skip(session, index)
        return {"id": made.session_id}

    def megolm_skip(self, session, index):
        """Its outbound sessions step one by one; inbound ones know the ratchet of any index."""
        made = self._outbound[session]
        if index == made.message_index:
            return
        ratchet = vodozemac.InboundGroupSession(made.session_key).export_at(index)
        state = json.loads(unpickled(made.pickle(PICKLE_KEY)))
        state["ratchet"] = {"inner": list(decode(ratchet.to_base64())[5:133]), "counter": index}
        self._outbound[session] = vodozemac.GroupSession.from_pickle(pickled(json.dumps(state).encode()), PICKLE_KEY)

    def megolm_key(self, session):
        return {"key": self._outbound[session].session_key.to_base64()}

    def megolm_encrypt(self, session, text):
        made = self._outbound[session]
        index = made.message_index
        return {"index": index, "body": made.encrypt(decode(text)).to_base64()}

    def megolm_receive(self, session, key):
        return self._add(session, vodozemac.InboundGroupSession(vodozemac.SessionKey(key)))

    def megolm_import(self, session, key):
        return self._add(session, vodozemac.InboundGroupSession.import_session(vodozemac.ExportedSessionKey(key)))

    def _add(self, session, made):
        self._inbound[session] = made
        return {"id": made.session_id, "first": made.first_known_index}

    def megolm_decrypt(self, session, body):
        message = self._inbound[session].decrypt(vodozemac.MegolmMessage.from_base64(body))
        return {"text": encode(message.plaintext), "index": message.message_index}

    def megolm_export(self, session, index):
        key = self._inbound[session].export_at(index)
        if key is None:
            raise Refused("index")
        return {"key": key.to_base64()}

    def megolm_store(self, session):
        state = self._inbound[session].pickle(PICKLE_KEY)
        self._inbound[session] = vodozemac.InboundGroupSession.from_pickle(state, PICKLE_KEY)

    # Verification

    def sas_make(self, sas):
        self._sas[sas] = vodozemac.Sas()
        return {"key": self._sas[sas].public_key.to_base64()}

    def sas_agree(self, sas, key):
        self._sas[sas] = self._sas[sas].diffie_hellman(curve25519(key))

    def sas_compare(self, sas, starter, accepter, transaction):
        text = "|".join(["MATRIX_KEY_VERIFICATION_SAS", *starter, *accepter, transaction])
        shown = self._sas[sas].bytes(text)
        return {"emoji": list(shown.emoji_indices), "decimals": list(shown.decimals)}

    def sas_codes(self, sas, method, sender, receiver, transaction, keys):
        code = self._code(sas, method, sender, receiver, transaction)
        return {"content": {"mac": {id: code(key, id) for id, key in keys.items()},
                            "keys": code(",".join(sorted(keys)), "KEY_IDS")}}

    def sas_check(self, sas, method, sender, receiver, transaction, content, keys):
        code = self._code(sas, method, sender, receiver, transaction)
        wanted = {id: code(key, id) for id, key in keys.items() if id in content["mac"]}
        if content["keys"] != code(",".join(sorted(content["mac"])), "KEY_IDS"):
            raise Refused("mac")
        if any(content["mac"][id] != mac for id, mac in wanted.items()):
            raise Refused("mac")
        return {"keys": sorted(wanted)}

    def _code(self, sas, method, sender, receiver, transaction):
        text = "MATRIX_KEY_VERIFICATION_MAC" + "".join(sender[:2] + receiver[:2]) + transaction
        agreed = self._sas[sas]
        make = agreed.calculate_mac if method.endswith(".v2") else agreed.calculate_mac_invalid_base64
        return lambda what, id: make(what, text + id)

    def sas_commitment(self, key, start):
        return {"commitment": encode(hashlib.sha256(key.encode() + encode_canonical_json(start)).digest())}

    # Backups

    def backup_public(self, private):
        return {"public": vodozemac.Curve25519SecretKey.from_base64(private).public_key().to_base64()}

    def backup_encrypt(self, public, text):
        made = vodozemac.PkEncryption.from_key(curve25519(public)).encrypt(decode(text))
        return {"data": {"ciphertext": encode(made.ciphertext), "mac": encode(made.mac),
                         "ephemeral": encode(made.ephemeral_key)}}

    def backup_decrypt(self, private, data):
        key = vodozemac.Curve25519SecretKey.from_base64(private)
        message = vodozemac.Message.from_base64(data["ciphertext"], data["mac"], data["ephemeral"])
        return {"text": encode(vodozemac.PkDecryption.from_key(key).decrypt(message))}

    # Files

    def export_write(self, text, passphrase, rounds):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "keys")
            encrypt_and_save(decode(text), path, passphrase, rounds)
            with open(path, encoding="utf-8") as file:
                return {"file": file.read()}

    def export_read(self, file, passphrase):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as copy:
            copy.write(file)
            copy.flush()
            return {"text": encode(decrypt_and_read(copy.name, passphrase))}

    def attachment_encrypt(self, text):
        data, file = encrypt_attachment(decode(text))
        return {"data": encode(data), "file": file}

    def attachment_decrypt(self, data, file):
        text = decrypt_attachment(decode(data), file["key"]["k"], file["hashes"]["sha256"], file["iv"])
        return {"text": encode(text)}

    # Signed JSON

    def signed_sign(self, object, seed, user, id):
        key = decode_signing_key_base64("ed25519", id.removeprefix("ed25519:"), seed)
        return {"object": sign_json(object, user, key), "key": encode(get_verify_key(key).encode())}

    def signed_verify(self, object, key, user, id):
        verify_signed_json(object, user, decode_verify_key_bytes(id, decode(key)))


def cipher_of_pickles():
    keys = HKDF(hashes.SHA256(), 80, bytes(32), b"Pickle").derive(PICKLE_KEY)
    return Cipher(algorithms.AES(keys[:32]), modes.CBC(keys[64:])), keys[32:64]


def unpickled(text):
    cipher, _ = cipher_of_pickles()
    data, unpadder = cipher.decryptor(), padding.PKCS7(128).unpadder()
    return unpadder.update(data.update(decode(text)[:-8]) + data.finalize()) + unpadder.finalize()


def pickled(state):
    cipher, key = cipher_of_pickles()
    data, padder = cipher.encryptor(), padding.PKCS7(128).padder()
    sealed = data.update(padder.update(state) + padder.finalize()) + data.finalize()
    code = hmac.HMAC(key, hashes.SHA256())
    code.update(sealed)
    return encode(sealed + code.finalize()[:8])


def refusals(error):
    """vodozemac's exceptions, and those of Python's base64, are ValueErrors."""
    known = Refused, ValueError, EncryptionError, SignatureVerifyException
    return f"{type(error).__name__}: {error}" if isinstance(error, known) else None


serve(Others(), refusals)
