"""Messages that a person typed to their agent, each with one rule or more of their own."""

from __future__ import annotations

from collections.abc import Iterator

TYPED = (
    # One sentence.
    "always use tabs for indentation in this repo",
    "never push to main without a pull request",
    "from now on run `make test` before you commit",
    "From now on, write the tests before the code.",
    "I prefer small commits over one big one.",
    "we must keep python 3.11 working here",
    "Please never use default exports in this package",
    "don't ever commit the .env file",
    "Never commit secrets to the repo.",
    "use uv instead of pip in this project",
    "IMPORTANT: always work on a feature branch.",
    "No, the port is 8081 on staging.",
    "Actually, the config lives in settings.toml.",
    "remember that the build uses make, not cmake",
    "All migrations must be reversible.",
    "You are not allowed to edit the lock file.",
    "Please don't push without my explicit approval.",
    "ask me before you touch the database schema",
    "stop adding comments to every line",
    "I'd rather have explicit errors than silent fallbacks",
    "we deploy with Ansible, not with Terraform",
    "always test against http://localhost:3000 and not the deployed page",
    "hey claude, from now on always run the formatter before committing",
    "Hi! Please always answer in short sentences.",
    # A request with a rule, in one paragraph.
    "Fix the build. All migrations must be reversible.",
    "fix the login page, and from now on always add a regression test for bugs",
    "The tests are red. Always use the fixture for the clock! Then push.",
    "can you look at the importer? it crashes on empty files. never swallow exceptions in importers",
    "ok that works. From now on always show me the plan first, then code.",
    "I got an error in the build. We must only use the pinned compiler here.",
    "looks good but please don't use mocks in the integration tests, use the real database",
    "Thanks, much better. One more thing: always use absolute imports, never relative ones.",
    "some very valid points raised on the pr. Please make sure the docs are consistent. the full "
    "schema should not be updated ever, it is a point in time snapshot.",
    "Let's go with the second option. I prefer composition over inheritance in this code base, and "
    "I don't want another base class. Can you start with the parser?",
    "I'm rewriting the billing service in Go. We deploy every Friday, so main has to stay green. "
    "Always run the whole suite before you push. Start with the invoice module.",
    "we need a strategy for testing the sharing flows. I would prefer that the flows are tested with "
    "several accounts. How much more infrastructure does that take?",
    "please add pagination to the users endpoint. Use cursors, never offsets, in all our endpoints.",
    "Rename the module to billing. Every public function needs a docstring. Then open a draft PR.",
    "The header is too tall on mobile. Please fix it. Never use inline styles in components.",
    "Add dark mode. Use the theme tokens only. Don't hardcode colours.",
    "Here's the thing: I always want to see a diff before you commit anything.",
    # Several lines or paragraphs.
    "Fix the login page.\n\nAlways add a regression test when you fix a bug.",
    "fix the flaky test in test_import.py\n\nnever use sleep in tests",
    "Add a dark mode toggle to the settings page.\nUse our own components only.\n"
    "Never use inline styles in this project.",
    "add retry to the http client\nalso from now on always log the attempt number\nthen run the tests",
    "Please refactor the auth module.\n\nThe session handling should move into its own file.\n\n"
    "From now on, always keep files under 300 lines.",
    "The date picker shows the wrong month.\n\nFix it please. Always add a regression test for bugs.",
    "can you check why the nightly import is slow?\n\nI think it is the index.\n\n"
    "btw never run migrations on the production database without asking me",
    "definitely more of a future consideration. I think another todo should be to look for "
    "alternatives to the service.\n\ndont forget to branch off main and not the current branch.",
    "ok, lets commit the review as it is, and then address the findings H1, H2 and M3.\n\n"
    "Findings not included in the list can be fixed if it is not too deep a change.\n\n"
    "Any findings that can be postponed should first create a todo to ensure that these are tracked "
    "going forward.\n\nOnce done, update the review and commit this.",
    "We are dropping docker. Just run the dashboard directly going forward. Can you close the old "
    "task?\n\nAlso please rebase the branch for me to review.",
    "I want to split the monolith.\n\nFirst step is the user service. Keep the old API working.\n\n"
    "All new endpoints must be versioned in the path.",
    "Thanks, that works now!\n\nGoing forward, please use conventional commits.",
    "Implement the export as CSV and JSON.\n\nWe must never load the whole table into memory.\n\n"
    "Start with a failing test.",
    "why does the build fail on CI but not locally?\n\nremember that CI runs on alpine",
    "Move the helpers to lib/.\n\nUpdate all imports.\n\nRun the type checker.\n\n"
    "Never leave a broken main behind, always check before you push.",
    "hi claude,\n\nplease add a healthcheck endpoint.\n\nalways return json from our endpoints.",
    # Lists of one's own instructions.
    "Please do the following:\n- add a login form\n- validate the email\n- never store the password in "
    "plain text\n- always show errors next to the field",
    "Refactor the parser:\n1. split it into lexer and parser\n2. add tests for both\n"
    "3. never use global state",
    "Some rules for this repo:\n\n- always use pnpm\n- never use default exports in components\n"
    "- commits must follow the conventional format",
    "Rules:\nalways use tabs for indentation in Go\nnever commit directly to main\n"
    "all public functions need docstrings",
    "A few things:\n* fix the footer\n* update the changelog\n* from now on always bump the version "
    "when you release",
    "Build a small CLI for the importer.\n\nRequirements:\n- reads CSV from stdin\n- writes JSON\n"
    "- must never load the whole file into memory\n\nAlways use the standard library where possible.",
    "Work on the search page:\n- make the input debounce\n- show a spinner\n- keep the query in the "
    "url\n\nPlease never use jQuery in this project.",
    "Task: add rate limiting to the API.\nRules: always use redis for counters, never memory.",
    "I need you to clean up the test suite:\n\n1. remove the dead fixtures\n2. merge the two conftest "
    "files\n3. Tests must never depend on each other\n4. run it twice",
    "todo for today\n- upgrade the linter\n- fix the warnings it finds\n- don't use `any` in our code, "
    "ever, we should never need it",
    # Next to something that is marked as pasted.
    "Summarize this:\n```\nthe long text of somebody\n```\nFrom now on always answer in German.",
    "what does this mean?\n> a quoted line of a page\n\nAlso, always use the async client from now on.",
    "I get this:\n```\nTypeError: x is undefined\n```\nFix it. Never use non-null assertions here.",
    "Traceback (most recent call last)\n\nwe must keep python 3.11 working here\n",
    # Other languages.
    "请始终使用中文注释，并且不要使用拼音命名。以后每次提交之前都要先运行测试。",
    "以后每次提交之前都要先运行全部的单元测试和代码检查。",
    "環境変数のハードコーディングは絶対にしないでください。",
    "앞으로는 커밋 메시지를 한국어로 작성해 주세요 부탁드립니다",
    "Всегда пиши комментарии к коду на русском языке",
    "Ab sofort bitte alle Kommentare auf Deutsch schreiben.",
    "Bitte behebe den Fehler im Login.\n\nAb sofort bitte immer zuerst die Tests ausführen.",
    "A partir de ahora escribe los mensajes en castellano.",
    "Arregla el error del formulario.\nNunca subas nada directamente a main.",
    "Je souhaite dorénavant que tu me parles en français.",
    "Corrige le test qui échoue.\n\nNe pousse jamais directement sur main.",
    "Nein, wir verwenden hier nur die eigene Bibliothek.",
    "De agora em diante, responde sempre em português.",
    "修复登录页面的错误。\n\n以后一律使用 TypeScript 编写新代码。",
    # Longer ones.
    "I've been thinking about how we should structure the new reporting feature. Right now the "
    "queries are spread over three modules and nobody knows which one is used. I want one module "
    "with all of them, plain SQL, no ORM. Always keep the queries in their own files so that I can "
    "read them in the editor. Start with the revenue report, it is the one that the customers use "
    "the most, and show me what it looks like before you do the others.",
    "Let's set up the project from scratch. I want a monorepo with pnpm, one package for the api and "
    "one for the web app. For the api use fastify, I don't like express anymore. For the web app use "
    "vite and react, no next. Never add a dependency without asking me first. When the skeleton is "
    "there, add a healthcheck, a Dockerfile and a GitHub workflow that runs lint and tests. Keep the "
    "workflow simple. I'll add the deployment myself later.",
    "Context: we are moving from Redux to Zustand, page by page.\n\nTask: migrate the cart page.\n\n"
    "- keep the selectors as they are\n- delete the old reducer\n- all stores must be typed\n\n"
    "When you are done, run the tests and show me the summary. Never change the snapshots by hand.",
    "Please review the open todos in this repo and pick the three easiest ones.\n\nFor each one make "
    "a separate branch and a separate commit. I prefer short commit messages in the imperative.\n\n"
    "Don't touch the legacy folder, we are going to delete it next month anyway.\n\n"
    "If something is unclear, ask me. Always ask me before you delete a file.",
)

SENTENCES = (
    "never push to main",
    "always use pnpm in this repo",
    "Always run the formatter before you commit.",
    "All migrations must be reversible.",
    "Commits must follow the conventional format.",
    "Code review is required before merging.",
    "we must never ignore errors in this project",
    "we deploy with Ansible, not with Terraform",
    "Let's go with Postgres for the job queue.",
    "we are going to adopt the promptfoo eval contract",
    "we decided to keep one client id for all environments",
    "i no longer use prek",
    "we no longer support node 16 in the runner",
    "only the release job should push tags",
    "I think it's better not to store any PII in local storage.",
    "pass rates should align with what the runner reports",
    "in this repo we want to commit the generated client",
    "Go convention is lowercase error messages.",
    "dont just run the migrations directly on the server",
    "make sure each sentence is on its own line in markdown",
    "i want the unused parameters retained",
    "I would prefer that the sharing flows are tested with several accounts.",
    "I'd rather have explicit errors than silent fallbacks",
    "use prefix 'rwr/' for the branch name",
    "dont forget to branch off main and not the current branch",
    "keep in mind that CI runs on alpine",
    "remember that the build uses make, not cmake",
    "No, the port is 8081 on staging.",
    "Actually, the config lives in settings.toml.",
    "don't use mocks in the integration tests",
    "stop adding comments to every line",
    "from now on write the tests before the code",
    "every public function needs a docstring",
    "ask me before you touch the database schema",
    "never install anything unless I ask you to",
    "all verification can be done automatically with the --dev-key flag",
    "we store session state in redis",
    "the full schema should not be edited ever, it is a snapshot",
    "I don't like nested types",
    "avoid default exports in components",
    "use uv instead of pip",
    "we should call ours max_concurrency to be consistent",
    "When adding an endpoint, update the openapi file.",
    "Any finding that can wait should first get a todo.",
    "Please always answer in short sentences.",
    "请始终使用中文注释",
    "以后一律使用 TypeScript 编写新代码。",
    "Ab sofort bitte alle Kommentare auf Deutsch schreiben.",
    "Nunca subas nada directamente a main.",
    "Ne pousse jamais directement sur main.",
)

AROUND = (
    "{}",
    "ok that works. {}",
    "can you fix the login page? {}",
    "fix the flaky test in test_import.py\n\n{}",
    "The importer crashes on empty files, I think since the last release. Please have a look.\n\n{}",
    "add retry to the http client\n{}\nthen run the tests",
)


def in_context() -> Iterator[tuple[str, str]]:
    """Give 300 rules, each in a message as people type them, and the messages."""
    for sentence in SENTENCES:
        for around in AROUND:
            yield sentence, around.format(sentence)
