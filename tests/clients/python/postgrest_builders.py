"""postgrest-py by itself, with a token of a role: every filter, modifier and preference that it has."""

import asyncio
import os

from postgrest import APIError, AsyncPostgrestClient, SyncPostgrestClient

from checks import end, equal, ok, part, refused

url = os.environ["URL"] + "/rest/v1"
visitor = SyncPostgrestClient(url, headers={"apikey": os.environ["PUBLISHABLE_KEY"]})
editor = SyncPostgrestClient(url, headers={"apikey": os.environ["PUBLISHABLE_KEY"]})
editor.auth(os.environ["TOKEN"])


def ids(builder):
    return [row["id"] for row in builder.order("id").execute().data]


with part("comparisons"):
    posts = lambda columns="id": visitor.from_("posts").select(columns)
    equal(ids(posts().eq("title", "Post 03")), [3], "eq")
    equal(ids(posts().neq("status", "draft").lt("id", 4)), [1, 2, 3], "neq, lt")
    equal(ids(posts().gt("rating", 9.5)), [10, 21], "gt")
    equal(ids(posts().gte("views", 3900)), [39], "gte")
    equal(ids(posts().lte("published_at", "2026-01-03T12:00:00Z")), [1, 2], "lte of a time")
    equal(ids(posts().is_("rating", "null")), [], "is null")
    equal(ids(posts().is_("rating", None).lt("id", 4)), [], "is None")
    equal(ids(posts().not_.is_("rating", "null").lt("id", 4)), [1, 2, 3], "not is null")
    equal(ids(posts().like("title", "Post 0_").gt("id", 8)), [9], "like")
    equal(ids(posts().ilike("title", "%POST 1_%").gt("id", 17)), [18, 19], "ilike")
    equal(ids(posts().like_all_of("title", "Post%,%01")), [1], "like all of")
    equal(ids(posts().like_any_of("title", "%01,%02")), [1, 2], "like any of")
    equal(ids(posts().ilike_all_of("title", "post%,%01")), [1], "ilike all of")
    equal(ids(posts().ilike_any_of("title", "%1,post 02").lt("id", 12)), [1, 2, 11], "ilike any of")
    equal(ids(posts().in_("id", [1, 2, 4])), [1, 2], "in")
    equal(ids(posts().in_("title", ['Post 01', 'x,y', '(z)', 'q"r'])), [1], "in, with commas and quotes")
    equal(ids(posts().not_.in_("author_id", [2, 3, 4]).lt("id", 10)), [1, 5, 9], "not in")
    equal(ids(posts().match({"author_id": 1, "id": 5})), [5], "match")
    equal(ids(posts().filter("id", "eq", "7")), [7], "filter")
    equal(ids(posts().or_("id.eq.1,and(id.gt.37,id.lt.40)")), [1, 38, 39], "or with and")
    equal(ids(posts().or_("id.lt.3,not.or(id.gt.1,id.eq.0),title.in.(\"Post 07\",x)")), [1, 2, 7], "or with not.or and in")

with part("arrays, JSON, text search"):
    equal(ids(posts().contains("labels", [r'"first, \"quoted\""']).lt("id", 4)), [1, 3], "contains, with a comma and quotes")
    equal(ids(posts().cs("labels", ["even"]).lt("id", 4)), [2], "cs")
    equal(ids(posts().contained_by("labels", ["even", "x"]).lt("id", 7)), [2, 6], "contained by")
    equal(ids(posts().overlaps("labels", ["odd", "x"]).lt("id", 4)), [1, 3], "overlaps")
    equal(ids(posts().ov("labels", ["even"]).lt("id", 4)), [2], "ov")
    equal(ids(posts().contains("details", {"language": "de"}).lt("id", 7)), [3, 6], "contains of JSON")
    equal(ids(posts().eq("details->>language", "de").lt("id", 7)), [3, 6], "filter of a JSON path")
    equal(posts("words:details->words").eq("id", 3).execute().data, [{"words": 30}], "a JSON path with an alias")
    equal(posts().text_search("title", "Post & 03").execute().data, [{"id": 3}], "text_search")
    equal(posts().text_search("title", "post 05", options={"type": "plain", "config": "english"}).execute().data, [{"id": 5}], "text_search plain")
    equal(ids(posts().wfts("title", "post -03").lt("id", 5)), [1, 2], "wfts")
    equal(ids(posts().plfts("title", "post 07")), [7], "plfts")
    equal(ids(posts().phfts("title", "post 07")), [7], "phfts")

with part("ranges of a type"):
    stays = lambda: editor.from_("stays").select("id")
    equal(ids(stays().range_gt("days", (0, 5))), [2, 3], "range_gt")
    equal(ids(stays().range_gte("days", (4, 8))), [2, 3], "range_gte")
    equal(ids(stays().range_lt("days", (5, 20))), [1], "range_lt")
    equal(ids(stays().range_lte("days", (0, 8))), [1], "range_lte")
    equal(ids(stays().range_adjacent("days", (8, 10))), [2, 3], "range_adjacent")

with part("embeds"):
    row = posts("id, author:authors!inner(name), tags(name)").eq("author.name", "Linus").order("id").limit(1).execute().data
    equal(row, [{"id": 3, "author": {"name": "Linus"}, "tags": [{"name": "history"}, {"name": "letters"}]}], "inner with an alias, many to many")
    authors = (
        visitor.from_("authors").select("name, posts(id)").eq("id", 1)
        .order("id", desc=True, foreign_table="posts").limit(2, foreign_table="posts").execute().data
    )
    equal(authors, [{"name": "Ada", "posts": [{"id": 37}, {"id": 33}]}], "order and limit of an embed")
    found = visitor.from_("authors").select("name, posts(id)").or_("id.eq.1,id.eq.5", reference_table="posts").order("id").execute().data
    equal(found[:2], [{"name": "Ada", "posts": [{"id": 1}, {"id": 5}]}, {"name": "Grace", "posts": []}], "or of an embed")
    equal(visitor.from_("authors").select("name, posts(count)").eq("id", 4).execute().data, [{"name": "Dennis", "posts": [{"count": 0}]}], "count of an embed")

with part("counts, pages, representations"):
    for method in ("exact", "planned", "estimated"):
        response = visitor.from_("posts").select("id", count=method).range(0, 1).order("id").execute()
        equal([row["id"] for row in response.data], [1, 2], f"rows of a page with count={method}")
        ok(response.count >= 2, f"count={method}: {response.count}")
    equal(visitor.from_("posts").select("id", count="exact").execute().count, 30, "exact count")
    equal(visitor.from_("posts").select("*", count="exact", head=True).execute().count, 30, "count without rows")
    equal(visitor.from_("posts").select("id").order("rating", desc=True, nullsfirst=False).order("id").limit(2).execute().data, [{"id": 10}, {"id": 21}], "order by two columns")
    equal(visitor.from_("posts").select("id").order("id").offset(28).execute().data, [{"id": 38}, {"id": 39}], "offset")
    equal(visitor.from_("posts").select("title").eq("id", 1).single().execute().data, {"title": "Post 01"}, "single")
    equal(visitor.from_("posts").select("title").eq("id", 4).maybe_single().execute(), None, "maybe_single without a row")
    equal(visitor.from_("posts").select("title").eq("id", 1).maybe_single().execute().data, {"title": "Post 01"}, "maybe_single")
    with refused("single without a row", APIError, code="PGRST116"):
        visitor.from_("posts").select("title").eq("id", 4).single().execute()
    equal(visitor.from_("posts").select("id,title").eq("id", 1).csv().execute().data, 'id,title\n1,"Post 01"', "csv")
    plan = visitor.from_("posts").select("id").eq("id", 1).explain(format="json")
    with refused("plans are off", APIError, code="PGRST107"):
        plan.execute()

with part("writes"):
    added = editor.from_("tags").insert({"name": "python"}).execute()
    equal([row["name"] for row in added.data], ["python"], "insert")
    many = editor.from_("tags").insert([{"name": "a, b"}, {"name": 'q"u'}, {"name": "ümlaut 🙂"}], count="exact").execute()
    equal([row["name"] for row in many.data], ["a, b", 'q"u', "ümlaut 🙂"], "insert of several rows")
    equal(many.count, 3, "count of inserted rows")
    equal(editor.from_("tags").insert({"name": "minimal"}, returning="minimal").execute().data, [], "insert without representation")
    upserted = editor.from_("tags").upsert([{"name": "python"}, {"name": "new"}], on_conflict="name", ignore_duplicates=True).execute()
    equal([row["name"] for row in upserted.data], ["new"], "upsert that ignores duplicates")
    upserted = editor.from_("authors").upsert({"name": "Ada", "born": "1815-12-11"}, on_conflict="name").execute()
    equal([(row["id"], row["born"]) for row in upserted.data], [(1, "1815-12-11")], "upsert by a unique column")
    post = editor.from_("posts").insert({"author_id": 1, "title": "With defaults"}, default_to_null=False).execute().data[0]
    equal(post["status"], "draft", "default values")
    mixed = editor.from_("posts").insert(
        [{"author_id": 1, "title": "x", "body": "text"}, {"author_id": 1, "title": "y"}], default_to_null=False
    ).execute().data
    equal([row["body"] for row in mixed], ["text", ""], "default values of a column that one row leaves out")
    with refused("without default values", APIError, code="23502"):
        editor.from_("posts").insert([{"author_id": 1, "title": "x", "body": "text"}, {"author_id": 1, "title": "y"}]).execute()
    updated = editor.from_("posts").update({"rating": 4.5}, count="exact").eq("id", post["id"]).execute()
    equal((updated.count, updated.data[0]["rating"]), (1, 4.5), "update")
    equal(len(editor.from_("posts").delete().in_("title", ["x", "y", "With defaults"]).execute().data), 3, "delete")
    with refused("max_affected", APIError, code="PGRST124"):
        editor.from_("posts").update({"rating": 1}).gt("id", 0).max_affected(3).execute()
    equal(len(editor.from_("tags").delete().gt("id", 4).execute().data), 6, "cleaned up")

with part("functions"):
    equal(visitor.rpc("add", {"a": 1, "b": 41}).execute().data, 42, "rpc by POST")
    equal(visitor.rpc("add", {"a": 1, "b": 2}, get=True).execute().data, 3, "rpc by GET")
    equal([row["id"] for row in visitor.rpc("search_posts", {"phrase": "3"}).select("id").gt("id", 20).limit(2).order("id").execute().data], [23, 30], "rpc with filters")
    equal(visitor.rpc("search_posts", {"phrase": "Post"}, count="exact", head=True).execute().count, 30, "count of a function's rows")
    with refused("unknown function", APIError, code="PGRST202"):
        visitor.rpc("nothing", {"x": 1}).execute()

with part("errors and schemas"):
    with refused("unknown table", APIError, code="PGRST205"):
        visitor.from_("nothing").select("*").execute()
    with refused("unknown column", APIError, code="42703"):
        visitor.from_("posts").select("nothing").execute()
    with refused("visitors may not write", APIError, code="42501"):
        visitor.from_("tags").insert({"name": "x"}).execute()
    with refused("a value of another type", APIError, code="22P02"):
        visitor.from_("posts").select("id").eq("id", "one").execute()
    with refused("a schema that is not exposed", APIError, code="PGRST106"):
        visitor.schema("secret").from_("posts").select("*").execute()
    equal(visitor.schema("public").from_("tags").select("id").eq("id", 1).execute().data, [{"id": 1}], "schema by name")
    with refused("a forged token", APIError, code="PGRST301"):
        SyncPostgrestClient(url, headers={"apikey": os.environ["PUBLISHABLE_KEY"]}).auth(os.environ["TOKEN"][:-4] + "AAAA").from_("todos").select("*").execute()


async def asynchronous():
    async with AsyncPostgrestClient(url, headers={"apikey": os.environ["PUBLISHABLE_KEY"]}) as client:
        pages = await asyncio.gather(*(client.from_("posts").select("id").order("id").range(n, n).execute() for n in range(30)))
        equal(len({page.data[0]["id"] for page in pages}), 30, "thirty requests at once, over HTTP/2 or not")
        equal((await client.rpc("add", {"a": 1, "b": 2}).execute()).data, 3, "rpc")
        with refused("an error", APIError, code="PGRST205"):
            await client.from_("nothing").select("*").execute()


with part("asynchronously"):
    asyncio.run(asynchronous())
end()
