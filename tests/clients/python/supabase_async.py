"""The asynchronous supabase-py: live changes, messages, who is there, and sign-ins by links in mails with PKCE."""

import asyncio
import json
import logging
import os
import urllib.error
import urllib.parse
import urllib.request

from realtime import RealtimeSubscribeStates
from supabase import AsyncClientOptions, AuthApiError, acreate_client

from checks import end, equal, ok, part, refused

url, publishable, secret = (os.environ[name] for name in ("URL", "PUBLISHABLE_KEY", "SECRET_KEY"))
password = "correct horse battery"

# The client logs messages that it does not understand as errors, and drops them.
logged = []
handler = logging.Handler()
handler.emit = lambda record: logged.append(record.getMessage())
logging.getLogger("realtime").addHandler(handler)
logging.getLogger("realtime").setLevel(logging.WARNING)


def client(key=publishable, **options):
    return acreate_client(url, key, AsyncClientOptions(auto_refresh_token=False, **options))


async def until(fits, seconds=10):
    for _ in range(seconds * 20):
        if fits():
            return True
        await asyncio.sleep(0.05)
    return False


async def subscribed(channel):
    """Subscribes a channel. Returns the first state and its error."""
    state = asyncio.get_running_loop().create_future()
    await channel.subscribe(lambda found, error: state.done() or state.set_result((found, error)))
    return await asyncio.wait_for(state, 10)


async def mail_link(address):
    def read():
        with urllib.request.urlopen(f"{url}/auth/v1/dev/mailbox") as response:
            return [mail for mail in json.load(response)["messages"] if mail["to"] == address]

    mails = []

    for _ in range(100):
        mails = await asyncio.to_thread(read)
        if mails:
            break
        await asyncio.sleep(0.1)
    return mails[0]["link"]


class ToThePage(urllib.request.HTTPRedirectHandler):
    """Follows redirects up to that to the page, which has no server."""

    def redirect_request(self, request, file, code, message, headers, to):
        return None if ":5173" in to else super().redirect_request(request, file, code, message, headers, to)


async def follow(link):
    """Opens a link as a browser would. Returns the parameters that the page gets."""

    def opened():
        try:
            with urllib.request.build_opener(ToThePage, urllib.request.HTTPCookieProcessor).open(link) as response:
                raise RuntimeError(f"no redirect to the page, but {response.url}: {response.read()[:1000]}")
        except urllib.error.HTTPError as error:
            location = error.headers["Location"]
            if location is None:
                raise RuntimeError(f"{error.url}: {error.read()[:1000]}") from error
            return location

    page = urllib.parse.urlparse(await asyncio.to_thread(opened))
    return urllib.parse.parse_qs(page.query or page.fragment)


async def accounts(ann, bob, admin):
    with part("accounts"):
        for person, address in ((ann, "ann@async.example"), (bob, "bob@async.example")):
            await admin.auth.admin.create_user({"email": address, "password": password, "email_confirm": True})
            await person.auth.sign_in_with_password({"email": address, "password": password})
        equal((await ann.auth.get_user()).user.email, "ann@async.example", "get_user")
        results = await asyncio.gather(*(ann.table("todos").insert({"task": f"Task {n}", "position": n}).execute() for n in range(10)))
        equal(sorted(result.data[0]["position"] for result in results), list(range(10)), "ten inserts at once")
        equal((await bob.table("todos").select("*", count="exact").execute()).count, 0, "another person sees none")
        refreshed = await ann.auth.refresh_session()
        ok(refreshed.session.access_token, "refresh_session")


async def changes(ann, bob, visitor):
    with part("changes of rows"):
        heard, heard_by_bob, posts, system = [], [], [], []
        mine = ann.channel("mine")
        mine.on_postgres_changes("*", lambda change: heard.append(change["data"]), schema="public", table="todos")
        mine.on_postgres_changes("UPDATE", lambda change: heard.append(change["data"]["record"]["task"]), schema="public", table="todos", filter="position=eq.77")
        mine.on_system(lambda payload: system.append(payload.message))
        equal((await subscribed(mine))[0], RealtimeSubscribeStates.SUBSCRIBED, "subscribe")
        other = bob.channel("theirs")
        other.on_postgres_changes("*", lambda change: heard_by_bob.append(change), schema="public", table="todos")
        await subscribed(other)
        public = visitor.channel("posts")
        public.on_postgres_changes("INSERT", lambda change: posts.append(change["data"]["record"]["title"]), schema="public", table="posts")
        public.on_postgres_changes("*", lambda change: posts.append(change["data"]["table"]), schema="public")
        equal((await subscribed(public))[0], RealtimeSubscribeStates.SUBSCRIBED, "subscribe to a schema")
        ok(await until(lambda: system), "the server says that it listens")
        await asyncio.sleep(1)
        row = (await ann.table("todos").insert({"task": "Live", "position": 77}).execute()).data[0]
        await ann.table("todos").update({"done": True}).eq("id", row["id"]).execute()
        await ann.table("todos").delete().eq("id", row["id"]).execute()
        ok(await until(lambda: len(heard) >= 4), f"changes arrive: {len(heard)}")
        rows = [change for change in heard if isinstance(change, dict)]
        equal([change["type"] for change in rows], ["INSERT", "UPDATE", "DELETE"], "insert, update and delete")
        equal((rows[0]["record"]["task"], rows[1]["record"]["done"], rows[2]["old_record"]), ("Live", True, {"id": row["id"]}), "with their rows")
        equal([change for change in heard if isinstance(change, str)], ["Live"], "a filter")
        await ann.table("posts").insert([{"author_id": 1, "title": "Seen", "status": "published"}, {"author_id": 1, "title": "Draft", "status": "draft"}]).execute()
        ok(await until(lambda: len(posts) >= 2), "a visitor hears of posts")
        await asyncio.sleep(0.5)
        equal(sorted(posts), ["Seen", "posts"], "but not of drafts")
        # Deletes have only the key of the row, which policies cannot judge.
        equal([change["data"]["type"] for change in heard_by_bob], ["DELETE"], "another person hears of no to-do, as on Supabase apart from deletes")
        await ann.table("posts").delete().in_("title", ["Seen", "Draft"]).execute()
        bad = visitor.channel("bad")
        bad.on_postgres_changes("*", lambda change: None, schema="public", table="nothing")
        await bad.subscribe()
        for person, channel in ((ann, mine), (bob, other), (visitor, public)):
            await person.remove_channel(channel)


async def messages(ann, bob):
    with part("messages and who is there"):
        heard, echoes, syncs = [], [], []
        first = ann.channel("room", {"config": {"broadcast": {"ack": True, "self": True}, "presence": {"key": "ann", "enabled": True}, "private": False}})
        first.on_broadcast("hello", lambda message: echoes.append(message["payload"]))
        first.on_presence_sync(lambda: syncs.append(1))
        second = bob.channel("room", {"config": {"broadcast": {"ack": False, "self": False}, "presence": {"key": "bob", "enabled": True}, "private": False}})
        second.on_broadcast("hello", lambda message: heard.append(message["payload"]))
        joined, left = [], []
        second.on_presence_join(lambda key, current, new: joined.append(key))
        second.on_presence_leave(lambda key, current, gone: left.append(key))
        await subscribed(first)
        await subscribed(second)
        await first.send_broadcast("hello", {"text": "ünïcode", "n": 1})
        await second.send_broadcast("hello", {"n": 2})
        ok(await until(lambda: len(heard) == 1 and len(echoes) == 2), f"broadcast with and without self: {heard} {echoes}")
        await first.track({"status": "here"})
        await second.track({"status": "also"})
        ok(await until(lambda: set(second.presence_state()) == {"ann", "bob"} and set(first.presence_state()) == {"ann", "bob"}), f"both are there: {second.presence_state()}")
        equal(second.presence_state()["ann"][0]["status"], "here", "what was tracked")
        await first.untrack()
        ok(await until(lambda: left == ["ann"]), "untrack")
        ok("ann" in joined and len(syncs) > 0, "joins and syncs were reported")
        private = ann.channel("private-room", {"config": {"broadcast": {"ack": False, "self": False}, "presence": {"key": "", "enabled": False}, "private": True}})
        state, error = await subscribed(private)
        equal(state, RealtimeSubscribeStates.CHANNEL_ERROR, f"a private channel without a policy: {error}")
        await ann.realtime.set_auth((await ann.auth.get_session()).access_token)
        await second.send_broadcast("hello", {"n": 3})
        ok(await until(lambda: {"n": 3} in echoes), "the channel goes on after set_auth")
        await ann.realtime.close()
        await bob.realtime.close()


async def mails():
    with part("links of mails, and a provider"):
        page = await client()
        await page.auth.sign_in_with_otp({"email": "link@async.example", "options": {"email_redirect_to": "http://localhost:5173/back"}})
        session = await follow(await mail_link("link@async.example"))
        signed_in = await page.auth.set_session(session["access_token"][0], session["refresh_token"][0])
        equal(signed_in.user.email, "link@async.example", "sign_in_with_otp, set_session with what the page gets")
        await page.auth.reset_password_for_email("ann@async.example", {"redirect_to": "http://localhost:5173/new"})
        session = await follow(await mail_link("ann@async.example"))
        equal(session["type"], ["recovery"], "reset_password_for_email")
        await page.auth.set_session(session["access_token"][0], session["refresh_token"][0])
        await page.auth.update_user({"password": "another horse battery"})
        await page.auth.sign_in_with_password({"email": "ann@async.example", "password": "another horse battery"})
        equal((await page.auth.get_user()).user.email, "ann@async.example", "update_user with a new password")
        # The default flow of this client is PKCE, which it has for providers only.
        start = await page.auth.sign_in_with_oauth({"provider": "keycloak", "options": {"redirect_to": "http://localhost:5173/back", "query_params": {"login_hint": "ann"}}})
        parameters = await follow(start.url)
        equal(list(parameters), ["code"], f"the page gets a code: {parameters}")
        code = parameters["code"][0]
        session = await page.auth.exchange_code_for_session({"auth_code": code, "redirect_to": ""})
        equal(session.user.app_metadata["provider"], "keycloak", "sign_in_with_oauth, exchange_code_for_session")
        with refused("a code is used once", AuthApiError, status=404, code="flow_state_not_found"):
            await page.auth.exchange_code_for_session({"auth_code": code, "code_verifier": "x" * 50, "redirect_to": ""})


async def files_and_functions(ann, admin):
    with part("files and functions"):
        await admin.storage.create_bucket("async", options={"public": True})
        await asyncio.gather(*(admin.storage.from_("async").upload(f"{n}.txt", str(n).encode(), {"content-type": "text/plain"}) for n in range(8)))
        found = await asyncio.gather(*(ann.storage.from_("async").get_public_url(f"{n}.txt") for n in range(8)))
        equal(len(found), 8, "get_public_url")
        equal([await admin.storage.from_("async").download(f"{n}.txt") for n in range(8)], [str(n).encode() for n in range(8)], "eight uploads at once")
        result = await ann.functions.invoke("hello", {"body": {"name": "Ann"}, "responseType": "json"})
        equal(result, {"message": "Hello Ann", "role": "authenticated"}, "invoke")


async def main():
    ann, bob, visitor, admin = await asyncio.gather(client(), client(), client(), client(secret))
    await accounts(ann, bob, admin)
    await changes(ann, bob, visitor)
    await messages(ann, bob)
    await files_and_functions(ann, admin)
    await mails()
    for person in (ann, bob, visitor, admin):
        await person.realtime.close()
    equal(logged, [], "the client understands every message")


asyncio.run(main())
end()
