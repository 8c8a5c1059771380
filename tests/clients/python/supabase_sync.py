"""supabase-py as most programs use it: clients of two people, one of a visitor, and one with the secret key."""

import os
import tempfile
import urllib.request
from pathlib import Path

from postgrest import APIError
from storage3.exceptions import StorageApiError
from supabase import AuthApiError, ClientOptions, create_client
from supabase_auth.errors import AuthSessionMissingError, AuthWeakPasswordError
from supabase_functions.errors import FunctionsHttpError

from checks import end, equal, ok, part, refused, totp

url, publishable, secret = (os.environ[name] for name in ("URL", "PUBLISHABLE_KEY", "SECRET_KEY"))
password = "correct horse battery"


def client(key=publishable):
    return create_client(url, key, ClientOptions(auto_refresh_token=False))


def get(address):
    with urllib.request.urlopen(address) as response:
        return response.read(), response.headers


admin, ann, bob, visitor = client(secret), client(), client(), client()

with part("accounts"):
    events = []
    subscription = ann.auth.on_auth_state_change(lambda event, session: events.append(event))
    signed_up = ann.auth.sign_up({"email": "ann@python.example", "password": password, "options": {"data": {"full_name": "Ann"}}})
    equal(signed_up.user.email, "ann@python.example", "sign_up")
    equal(signed_up.user.user_metadata["full_name"], "Ann", "metadata of sign_up")
    equal(ann.auth.get_user().user.id, signed_up.user.id, "get_user")
    equal(ann.auth.get_claims()["claims"]["sub"], signed_up.user.id, "get_claims")
    equal([identity.provider for identity in ann.auth.get_user_identities().identities], ["email"], "get_user_identities")
    updated = ann.auth.update_user({"data": {"colour": "blue"}})
    equal(updated.user.user_metadata["colour"], "blue", "update_user")
    before = ann.auth.get_session()
    refreshed = ann.auth.refresh_session()
    ok(refreshed.session.refresh_token != before.refresh_token, "refresh_session")
    taken = client()
    equal(taken.auth.set_session(refreshed.session.access_token, refreshed.session.refresh_token).user.id, signed_up.user.id, "set_session")
    with refused("sign_up with an address that has an account", AuthApiError, code="user_already_exists", status=422):
        visitor.auth.sign_up({"email": "ann@python.example", "password": password})
    with refused("sign_up with a short password", AuthWeakPasswordError, reasons=["length"]):
        visitor.auth.sign_up({"email": "short@python.example", "password": "x"})
    with refused("a wrong password", AuthApiError, code="invalid_credentials", status=400):
        visitor.auth.sign_in_with_password({"email": "ann@python.example", "password": "wrong"})
    with refused("a password changes with the current one only", AuthApiError, code="same_password"):
        ann.auth.update_user({"password": password})
    ann.auth.sign_out({"scope": "others"})
    equal(ann.auth.get_user().user.id, signed_up.user.id, "sign_out of other sessions keeps this one")
    ann.auth.sign_out()
    equal(ann.auth.get_session(), None, "sign_out")
    ann.auth.sign_in_with_password({"email": "ann@python.example", "password": password})
    subscription.unsubscribe()
    equal([event for event in events if event != "INITIAL_SESSION"], ["SIGNED_IN", "USER_UPDATED", "TOKEN_REFRESHED", "SIGNED_OUT", "SIGNED_IN"], "events")
    anonymous = client()
    with refused("anonymous sign-ins are off", AuthApiError, code="anonymous_provider_disabled"):
        anonymous.auth.sign_in_anonymously()
    with refused("phones need a sender", AuthApiError, code="phone_provider_disabled"):
        anonymous.auth.sign_in_with_otp({"phone": "+41791234567"})
    link = anonymous.auth.sign_in_with_oauth({"provider": "github", "options": {"redirect_to": "http://localhost/x"}})
    ok(link.url.startswith(url + "/auth/v1/authorize?") and "provider=github" in link.url, "sign_in_with_oauth")

with part("administration"):
    made = admin.auth.admin.create_user({"email": "bob@python.example", "password": password, "email_confirm": True, "user_metadata": {"full_name": "Bob"}, "app_metadata": {"team": "red"}})
    equal((made.user.app_metadata["team"], made.user.user_metadata["full_name"]), ("red", "Bob"), "create_user")
    equal({"ann@python.example", "bob@python.example"} - {user.email for user in admin.auth.admin.list_users()}, set(), "list_users")
    equal(len(admin.auth.admin.list_users(page=1, per_page=1)), 1, "a page of list_users")
    equal(admin.auth.admin.get_user_by_id(made.user.id).user.email, "bob@python.example", "get_user_by_id")
    changed = admin.auth.admin.update_user_by_id(made.user.id, {"app_metadata": {"team": "blue"}, "ban_duration": "1h"})
    equal(changed.user.app_metadata["team"], "blue", "update_user_by_id")
    with refused("a banned person", AuthApiError, code="user_banned"):
        bob.auth.sign_in_with_password({"email": "bob@python.example", "password": password})
    admin.auth.admin.update_user_by_id(made.user.id, {"ban_duration": "none"})
    bob.auth.sign_in_with_password({"email": "bob@python.example", "password": password})
    magic = admin.auth.admin.generate_link({"type": "magiclink", "email": "bob@python.example"})
    equal(client().auth.verify_otp({"token_hash": magic.properties.hashed_token, "type": "magiclink"}).user.id, made.user.id, "generate_link, verify_otp with its hash")
    code = admin.auth.admin.generate_link({"type": "recovery", "email": "bob@python.example"})
    equal(client().auth.verify_otp({"email": "bob@python.example", "token": code.properties.email_otp, "type": "recovery"}).user.id, made.user.id, "verify_otp with the code of a recovery")
    new = admin.auth.admin.generate_link({"type": "signup", "email": "new@python.example", "password": password})
    equal(new.properties.verification_type, "signup", "generate_link for a sign-up")
    ok(admin.auth.admin.invite_user_by_email("invited@python.example").user.invited_at, "invite_user_by_email")
    admin.auth.admin.delete_user(new.user.id)
    with refused("a deleted user", AuthApiError, code="user_not_found", status=404):
        admin.auth.admin.get_user_by_id(new.user.id)
    with refused("administration with the key for pages", AuthApiError, status=403):
        visitor.auth.admin.list_users()
    with refused("administration as a user", AuthApiError, status=403):
        bob.auth.admin.delete_user(signed_up.user.id)

with part("a second factor"):
    enrolled = bob.auth.mfa.enroll({"factor_type": "totp", "friendly_name": "phone", "issuer": "Test"})
    ok(enrolled.totp.qr_code.startswith("data:image/svg+xml"), "enroll")
    verified = bob.auth.mfa.challenge_and_verify({"factor_id": enrolled.id, "code": totp(enrolled.totp.secret)})
    ok(verified.access_token, "challenge_and_verify")
    equal(bob.auth.mfa.get_authenticator_assurance_level().current_level, "aal2", "level after it")
    equal([factor.id for factor in bob.auth.mfa.list_factors().totp], [enrolled.id], "list_factors")
    equal([factor.id for factor in admin.auth.admin.mfa.list_factors({"user_id": made.user.id})], [enrolled.id], "list_factors of an administrator")
    challenge = bob.auth.mfa.challenge({"factor_id": enrolled.id})
    with refused("a wrong code", AuthApiError, code="mfa_verification_failed"):
        bob.auth.mfa.verify({"factor_id": enrolled.id, "challenge_id": challenge.id, "code": "000000"})
    equal(bob.auth.mfa.unenroll({"factor_id": enrolled.id}).id, enrolled.id, "unenroll")

with part("tables of two people"):
    bob.auth.sign_in_with_password({"email": "bob@python.example", "password": password})
    row = ann.table("todos").insert({"task": "Write"}).execute().data[0]
    equal((row["task"], row["owner"]), ("Write", signed_up.user.id), "insert")
    equal(bob.table("todos").select("*").execute().data, [], "another person sees nothing")
    equal(bob.table("todos").update({"done": True}).eq("id", row["id"]).execute().data, [], "and changes nothing")
    with refused("a row of another person", APIError, code="42501"):
        bob.table("todos").insert({"task": "x", "owner": signed_up.user.id}).execute()
    equal(ann.table("todos").update({"done": True}).eq("id", row["id"]).execute().data[0]["done"], True, "update")
    equal(ann.rpc("add", {"a": 1, "b": 2}).execute().data, 3, "rpc")
    equal([row["task"] for row in admin.table("todos").select("task").execute().data], ["Write"], "the secret key sees all")
    ann.auth.sign_out()
    equal(ann.table("todos").select("*").execute().data, [], "nothing after sign_out")
    ann.auth.sign_in_with_password({"email": "ann@python.example", "password": password})
    equal(len(ann.table("todos").delete().eq("id", row["id"]).execute().data), 1, "delete")

with part("files"):
    admin.storage.create_bucket("python", options={"public": False, "file_size_limit": 100_000, "allowed_mime_types": ["text/*", "image/png"]})
    admin.storage.create_bucket("pages", options={"public": True})
    bucket = admin.storage.get_bucket("python")
    equal((bucket.file_size_limit, bucket.allowed_mime_types, bucket.public), (100_000, ["text/*", "image/png"], False), "create_bucket, get_bucket")
    equal({"python", "pages"} - {bucket.id for bucket in admin.storage.list_buckets()}, set(), "list_buckets")
    files = ann.storage.from_("python")
    mine = f"{signed_up.user.id}/a b/ünïcode & more.txt"
    path = f"{signed_up.user.id}/plain.txt"
    ok(files.upload(path, b"Text", {"content-type": "text/plain", "cache-control": "60", "metadata": {"from": "python"}}).path == path, "upload of bytes")
    equal(files.download(path), b"Text", "download")
    info = files.info(path)
    equal((info["size"], info["content_type"], info["metadata"]), (4, "text/plain", {"from": "python"}), "info")
    equal((files.exists(path), files.exists(path + "x")), (True, False), "exists")
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        Path(file.name).write_text("From a file")
        files.upload(mine, file.name, {"content-type": "text/plain"})
        with open(file.name, "rb") as opened:
            files.upload(path, opened, {"content-type": "text/plain", "upsert": "true"})
    equal(files.download(path), b"From a file", "upload of a file, upsert")
    equal(files.download(mine), b"From a file", "a name with spaces and letters")
    with refused("upload of a file that is there", StorageApiError, code="Duplicate", status="409"):
        files.upload(path, b"x", {"content-type": "text/plain"})
    with refused("a type that the bucket does not take", StorageApiError, status="415"):
        files.upload(path + ".pdf", b"x", {"content-type": "application/pdf"})
    with refused("too large a file", StorageApiError, status="413"):
        files.upload(path + ".big", b"x" * 200_000, {"content-type": "text/plain"})
    with refused("a folder of another person", StorageApiError, status="403"):
        bob.storage.from_("python").upload(path + "2", b"x", {"content-type": "text/plain"})
    with refused("a file of another person", StorageApiError, status="404"):
        bob.storage.from_("python").download(path)
    files.update(path, b"Changed", {"content-type": "text/plain"})
    equal(files.download(path), b"Changed", "update")
    equal([entry["name"] for entry in files.list(signed_up.user.id, {"sortBy": {"column": "name", "order": "asc"}})], ["a b", "plain.txt"], "list")
    listed = files.list_v2({"prefix": f"{signed_up.user.id}/", "with_delimiter": True})
    equal(([entry.name for entry in listed.objects], [entry.name for entry in listed.folders]), ([path], [f"{signed_up.user.id}/a b/"]), "list_v2")
    signed = files.create_signed_url(path, 60, {"download": "saved.txt"})
    body, headers = get(signed["signedURL"])
    equal(body, b"Changed", "create_signed_url")
    ok("saved.txt" in headers["Content-Disposition"], "download of a signed URL has the name")
    both = files.create_signed_urls([path, path + "x"], 60)
    equal([bool(entry["error"]) for entry in both], [False, True], "create_signed_urls, one of a missing file")
    ticket = files.create_signed_upload_url(f"{signed_up.user.id}/later.txt")
    visitor.storage.from_("python").upload_to_signed_url(ticket["path"], ticket["token"], b"Later", {"content-type": "text/plain"})
    equal(files.download(ticket["path"]), b"Later", "create_signed_upload_url, upload_to_signed_url")
    files.copy(path, f"{signed_up.user.id}/copy.txt")
    files.move(f"{signed_up.user.id}/copy.txt", f"{signed_up.user.id}/moved.txt")
    equal(files.download(f"{signed_up.user.id}/moved.txt"), b"Changed", "copy, move")
    equal(len(files.remove([path, mine, f"{signed_up.user.id}/moved.txt", ticket["path"]])), 4, "remove")
    admin.storage.from_("pages").upload("index.html", b"<p>Hello</p>", {"content-type": "text/html"})
    equal(get(visitor.storage.from_("pages").get_public_url("index.html"))[0], b"<p>Hello</p>", "get_public_url")
    admin.storage.from_("pages").upload("picture.png", Path(os.environ["PICTURE"]).read_bytes(), {"content-type": "image/png"})
    resized = admin.storage.from_("pages").download("picture.png", {"transform": {"width": 8, "height": 8}})
    equal(int.from_bytes(resized[16:20]), 8, "download of a resized image")
    admin.storage.update_bucket("python", {"public": True})
    equal(admin.storage.get_bucket("python").public, True, "update_bucket")
    admin.storage.empty_bucket("pages")
    admin.storage.delete_bucket("pages")
    with refused("a deleted bucket", StorageApiError, code="Bucket not found", status="404"):
        admin.storage.get_bucket("pages")

with part("functions"):
    equal(ann.functions.invoke("hello", {"body": {"name": "Ann"}, "responseType": "json"}), {"message": "Hello Ann", "role": "authenticated"}, "invoke")
    equal(visitor.functions.invoke("hello", {"body": {"name": "x"}, "responseType": "json"})["role"], "anon", "invoke with the key for pages")
    with refused("a function that is not there", FunctionsHttpError, status=404):
        visitor.functions.invoke("missing")

end()
