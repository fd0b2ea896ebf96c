"""The published formats of tokens, of each issuer. Secrets in headers, addresses and command lines
are in `secrets.commands`.

Tables of patterns only. `secrets.rules` decides whether a match is a real secret or an example;
`secrets.search` applies them.

With `re.ASCII`, `\\w` is a letter, a digit or an underscore and `[^\\W_]` a letter or a digit. No
pattern nests quantifiers, and an open tail is never followed by something that could make it
backtrack.
"""

from __future__ import annotations

import re
from functools import cache

A = r"[^\W_]"
W = r"[\w-]"
H = r"[\da-f]"
X = r"[\da-fA-F]"
B = r"[\w+/-]"
UUID = X + "{8}(?:-" + X + "{4}){3}-" + X + "{12}"

PREFIXED = (
    # Cloud and hosting
    ("aws-key", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}"),
    ("aws-key", "A3T", "[A-Z0-9]{17}"),
    ("aws-key", "ABSK bedrock-api-key-", B + "{60,}={0,2}"),
    ("aws-key", "amzn.mws.", UUID),
    ("aws-key", "da2-", "[a-z0-9]{26}"),
    ("aws-session", "IQoJb3JpZ2lu FwoGZXIv FQoGZXIv", r"[\w+/%-]{60,}={0,2}"),
    ("google-key", "AIza", W + "{35}(?![_-])"),
    ("google-key", "GOCSPX-", W + "{20,}"),
    ("google-token", "ya29.", r"[\w.-]{20,}"),
    ("google-token", "1//0", W + "{30,}"),
    ("digitalocean-token", "doo_v1_ dop_v1_ dor_v1_", H + "{64}"),
    ("alibaba-key", "LTAI", A + "{12,26}"),
    ("tencent-key", "AKID", A + "{28,40}"),
    ("yandex-key", "AQVN", W + "{35,40}"),
    ("yandex-token", "t1.", W + r"{16,}={0,2}\." + W + "{60,}={0,2}"),
    ("cloudflare-key", "cfut_ cfat_ cfk_", A + "{36,}"),
    ("cloudflare-key", "v1.0-", H + "{24}-" + H + "{140,}"),
    ("heroku-key", "HRKU-", W + "{30,}"),
    ("netlify-token", "nfp_", A + "{36,}"),
    ("vercel-token", "vcp_ vck_ vca_ vci_ vcr_", A + "{24,}"),
    ("vercel-token", "vercel_blob_rw_", W + "{20,}"),
    ("fly-token", "fo1_", W + "{40,}"),
    ("fly-token", "fm1a_ fm1r_ fm2_", B + "{60,}={0,3}"),
    ("render-key", "rnd_", A + "{28,}"),
    ("scaleway-key", "SCW", "[A-Z0-9]{17}"),
    ("databricks-token", "dapi dose dkea", H + r"{32}(?:-\d)?"),
    ("planetscale-token", "pscale_tkn_ pscale_oauth_ pscale_pw_", r"[\w.=-]{32,}"),
    ("supabase-key", "sbp_ sbp_v0_", H + "{40}"),
    ("supabase-key", "sb_secret_", W + "{20,}"),
    ("neon-key", "napi_", A + "{40,}"),
    ("aiven-password", "AVNS_", W + "{16,}"),
    ("clickhouse-key", "4b1d", A + "{38}"),
    ("tailscale-key", "tskey-", "(?:[a-z]+-)?" + A + "{6,}-" + A + "{12,}"),
    # Source control, packages, builds
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", A + "{36,}"),
    ("github-token", "github_pat_", r"\w{22,}"),
    ("gitlab-token", "glpat- glptt- gldt- glrt- glcbt- glimt- glft- glsoat-", r"[\w.-]{20,}"),
    ("gitlab-token", "glagent- gloas- glffct- GR1348941", r"[\w.-]{20,}"),
    ("bitbucket-token", "ATBB", A + "{24,}"),
    ("atlassian-token", "ATATT3 ATCTT3", r"[\w=-]{50,}"),
    ("npm-token", "npm_", A + "{36,}"),
    ("pypi-token", "pypi-AgE", W + "{50,}"),
    ("rubygems-key", "rubygems_", H + "{48}"),
    ("crates-token", "cio", A + "{32}"),
    ("nuget-key", "oy2", "[a-z0-9]{43}"),
    ("clojars-token", "CLOJARS_", "[a-z0-9]{60}"),
    ("docker-token", "dckr_pat_ dckr_oat_", W + "{24,}"),
    ("artifactory-token", "AKC cmVmdGtu", A + "{40,}"),
    ("circleci-token", "CCIPAT_ CCIPRJ_", W + "{30,}"),
    ("buildkite-token", "bkua_ bkct_ bkaj_", H + "{40}"),
    ("pulumi-token", "pul-", H + "{40}"),
    ("vault-token", "hvs. hvb. hvr.", W + "{24,}"),
    ("doppler-token", "dp.ct. dp.pt. dp.st. dp.sa.", r"(?:[\w-]{2,35}\.)?" + A + "{40,44}"),
    ("doppler-token", "dp.scim. dp.audit.", A + "{40,44}"),
    ("sonar-token", "sqp_ sqa_ squ_", H + "{40}"),
    ("sourcegraph-token", "sgp_ slk_ sgd_", "(?:(?:" + X + "{16}|local)_)?" + X + "{40,64}"),
    ("octopus-key", "API-", "[A-Z0-9]{26}"),
    ("prefect-key", "pnu_ pnb_", A + "{36}"),
    ("infracost-key", "ico-", "(?=[a-z0-9]{0,31}[A-Z])" + A + "{32}"),
    ("postman-key", "PMAK-", H + "{24}-" + H + "{34}"),
    ("stackhawk-key", "hawk.", W + r"{20}\." + W + "{20}"),
    ("dependency-track-key", "odt_", "(?:" + A + "{8}_)?" + A + "{32,40}"),
    ("age-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{58}"),
    ("harness-key", "pat. sat.", W + r"{22}\." + H + r"{24}\." + A + "{20}"),
    ("settlemint-token", "sm_aat_ sm_pat_ sm_sat_", A + "{16}"),
    ("nebula-key", "dnkey-", r"[\w=-]{26}-[\w=-]{52}"),
    ("twitch-key", "live_", r"\d{6,12}_" + A + "{30}"),
    ("gocardless-token", "live_", W + "{40}"),
    ("intra42-secret", "s-s4t2ud-", H + "{64}"),
    ("1password-token", "ops_eyJ", r"[\w+/=-]{100,}"),
    ("1password-key", "A3-", "[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}"),
    ("openshift-token", "sha256~", W + "{43}"),
    ("private-key", "LS0tLS1CRUdJTiBQUklWQVRF LS0tLS1CRUdJTiBSU0EgUFJJVkFU", B + "{40,}={0,2}"),
    ("private-key", "LS0tLS1CRUdJTiBFQyBQUklWQVRF LS0tLS1CRUdJTiBPUEVOU1NI", B + "{40,}={0,2}"),
    ("private-key", "LS0tLS1CRUdJTiBFTkNSWVBU LS0tLS1CRUdJTiBEU0EgUFJJVkFU", B + "{40,}={0,2}"),
    # Chat, mail, documents, social
    ("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxt-", r"\d[\w-]{10,}"),
    ("slack-token", "xoxc- xoxd- xwfp-", r"[\w%-]{20,}"),
    ("slack-token", "xoxe.xoxb- xoxe.xoxp-", r"\d-[\w-]{20,}"),
    ("slack-token", "xapp-", r"\d-[A-Z0-9]{6,}-\d{6,}-[a-z0-9]{20,}"),
    ("twilio-key", "SK", H + "{32}"),
    ("sendgrid-key", "SG.", W + r"{16,32}\." + W + "{16,64}"),
    ("mailgun-key", "key- pubkey-", H + "{32}"),
    ("brevo-key", "xkeysib- xsmtpsib-", H + "{64}-" + A + "{16}"),
    ("resend-key", "re_", A + "{6,10}_" + A + "{20,28}"),
    ("facebook-token", "EAA", A + "{80,}"),
    ("instagram-token", "IGQ IGAA", W + "{80,}"),
    ("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", r"[\w%-]{60,}"),
    ("linear-key", "lin_api_ lin_oauth_", A + "{32,}"),
    ("notion-token", "ntn_", A + "{40,}"),
    ("notion-token", "secret_", A + "{43}"),
    ("figma-token", "figd_ figo_", W + "{36,}"),
    ("airtable-token", "pat", A + r"{14}\." + H + "{64}"),
    ("dropbox-token", "sl. sl.u.", W + "{120,}"),
    ("hubspot-token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", UUID),
    ("typeform-token", "tfp_", r"[\w.=-]{40,}"),
    ("contentful-token", "CFPAT-", W + "{40,}"),
    ("salesforce-token", "00D", A + r"{12,15}![\w.]{80,}"),
    ("frameio-token", "fio-u-", r"[\w=-]{60,}"),
    ("readme-key", "rdme_", "[a-z0-9]{60,}"),
    ("mapbox-token", "sk.eyJ pk.eyJ tk.eyJ", W + r"{20,}\." + W + "{16,}"),
    ("adafruit-key", "aio_", A + "{26,30}"),
    # Payment and trade
    ("stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", A + "{10,}"),
    ("stripe-key", "whsec_", B + "{24,}={0,2}"),
    ("square-token", "sq0atp- sq0csp- sq0idp-", W + "{22,}"),
    ("square-token", "EAAA", W + "{58,64}"),
    ("paypal-token", "access_token$production$ access_token$sandbox$", r"[\w$]{32,}"),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_", X + "{32}"),
    ("plaid-token", "access-sandbox- access-development- access-production-", UUID),
    ("razorpay-key", "rzp_live_ rzp_test_", A + "{14,}"),
    ("flutterwave-key", "FLWSECK- FLWSECK_TEST-", A + "{12,}(?:-X)?"),
    ("duffel-token", "duffel_test_ duffel_live_", r"[\w=-]{40,}"),
    ("easypost-key", "EZAK EZTK", A + "{54}"),
    ("shippo-key", "shippo_live_ shippo_test_", X + "{40}"),
    ("lob-key", "live_ test_ live_pub_ test_pub_", H + "{31,35}"),
    # Monitoring
    ("newrelic-key", "NRAK- NRJS- NRII- NRIQ- NRRA- NRAA- NRSP-", W + "{19,}"),
    ("pixie-key", "px-api- px-dep-", UUID),
    ("dynatrace-token", "dt0", r"[a-z]\d\d\.[A-Z0-9]{24}(?:\.[A-Z0-9]{64})?"),
    ("grafana-token", "glc_ eyJrIjoi", B + "{32,}={0,2}"),
    ("grafana-token", "glsa_", A + "{32}_" + X + "{8}"),
    ("sentry-token", "sntrys_eyJ", r"[\w+/=-]{40,}"),
    ("sentry-token", "sntryu_", H + "{64}"),
    ("honeycomb-key", "hcaik_ hcaic_ hcamk_ hcxik_", "[a-z0-9]{30,}"),
    ("posthog-key", "phx_", A + "{40,}"),
    ("launchdarkly-key", "sdk- api- mob-", UUID),
    # Language models
    ("anthropic-key", "sk-ant-", W + "{20,}"),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", W + "{20,}"),
    ("openrouter-key", "sk-or- sk-or-v1-", X + "{32,}"),
    ("llm-key", "sk- csk-", "(?:[a-z0-9]{2,10}-)?" + A + r"{20,}[\w-]*"),
    ("llm-key", "sk-lf-", UUID),
    ("llm-key", "sk_", H + "{40,64}"),
    ("groq-key", "gsk_", A + "{40,}"),
    ("xai-key", "xai-", A + "{40,}"),
    ("perplexity-key", "pplx-", A + "{40,}"),
    ("huggingface-token", "hf_ api_org_", A + "{34,40}"),
    ("replicate-token", "r8_", W + "{37}"),
    ("nvidia-key", "nvapi-", W + "{50,}"),
    ("pinecone-key", "pcsk_", r"\w{40,}"),
    ("langsmith-key", "lsv2_pt_ lsv2_sk_", H + "{32}_" + H + "{8,12}"),
    ("langsmith-key", "ls__", H + "{32}"),
    ("jina-key", "jina_", A + "{40,}"),
    ("tavily-key", "tvly- tvly-dev- tvly-prod-", W + "{20,}"),
    ("firecrawl-key", "fc-", H + "{32}"),
    ("fireworks-key", "fw_", A + "{22,}"),
    ("e2b-key", "e2b_", H + "{40}"),
    # Any issuer
    ("jwt", "ZXlK", B + "{60,}={0,2}"),
    # Behind a hyphen its header is bounded: any of many could begin a token.
    (
        "jwt",
        "eyJ",
        rf"(?:(?<![_-]eyJ){W}{{8,}}|{W}{{8,600}}+)\.{W}{{8,}}(?:\.[\w-]+){{1,3}}",
    ),
)
"""Type, prefixes, and the pattern after a prefix."""

SHAPED = (
    ("azure-key", "Q~", "", r"(?<![_.~-])[\w.~-]{3}\dQ~[\w.~-]{31,34}(?![\w~-])"),
    ("azure-key", "AZDO", "", A + "{32,80}AZDO" + A + "{3,8}"),
    ("azure-key", "JQQJ9", "", A + "{40,60}JQQJ9" + A + "{10,40}"),
    ("azure-key", "AzFu", "", W + "{40,50}AzFu" + W + "{5,8}={0,2}"),
    ("azure-key", "AzSe", "", A + "{40,50}AzSe" + A + "{5,8}"),
    ("terraform-token", ".atlasv1.", "", A + r"{14}\.atlasv1\.[\w=-]{40,}"),
    ("newrelic-key", "NRAL", "", H + "{32,36}(?:FFFF)?NRAL"),
    ("mailchimp-key", "-us", r"-us\d", H + r"{32}-us\d{1,2}"),
    ("telegram-token", ":A", "", r"(?:bot)?\d{7,10}:A[\w-]{34}"),
    ("maxmind-key", "_mmk", "", A + "{6}_" + A + "{29}_mmk"),
    ("truenas-key", "-", r"\d-[^\W_]{64}", r"\d{1,4}-" + A + "{64}"),
    (
        "discord-token",
        ".",
        r"\.[\w-]{6}\.[\w-]{27}",
        "[MNO]" + A + r"{22,27}\.[\w-]{6}\.[\w-]{27,40}",
    ),
)
"""Type, a text and a pattern that a long run must contain, and the whole pattern."""

_UUID = "[\\da-f]{8}-(?:[\\da-f]{4}-){3}[\\da-f]{12}"
_OWN_ID = "(?:toolu|call|msg|req|ws|fc|rs)_(?:bdrk_|vrtx_)?(?!{prefixes})[\\dA-Za-z]{{22,56}}"
_TIMED_ID = "[a-z_]{1,40}-\\d{13}-[\\da-f]{8,16}"
_COUNTED = "(?::queued)?:[\\da-f]{12,20}:\\d{1,9}|:\\d{1,9}:[\\da-f]{20}"
_HOST = "(?:claude-code|codex|gemini|opencode|cursor|copilot|specstory|aider|clio)"
_DATED = "[\\da-f]{8}-\\d{4}(?:-\\d\\d){2}T\\d\\d(?:-\\d\\d){2}:\\d{1,12}:[\\da-f]{20}"
LONGEST_ID = 150


@cache
def id_pattern() -> re.Pattern[str]:
    """Match the ids of agents, providers and our own: they come with every message, and cannot be
    one of the secrets above."""
    begins = "|".join(prefix for prefix, _, _ in token_prefixes() if prefix.isalnum())
    own = _OWN_ID.format(prefixes=begins)
    rest = f"[:/](?:call:|out:)?{own}|/{_TIMED_ID}(?:/out)?|{_COUNTED}"
    known = f"{own}|(?:{_HOST}\\.)?{_UUID}(?:{rest})?|{_HOST}\\.{_DATED}"
    return re.compile(known, re.ASCII)


Prefix = tuple[str, str, str]
"""Prefix of a token, its type, and the pattern after it."""

_HEAD = 3
_WORDS = bytes(code if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))


@cache
def token_prefixes() -> tuple[Prefix, ...]:
    """Return every prefix with its type and the pattern after it."""
    return tuple(
        (prefix, type_, body) for type_, several, body in PREFIXED for prefix in several.split(" ")
    )


@cache
def _by_head() -> tuple[dict[bytes, list[int]], tuple[int, ...]]:
    """Group the prefixes by their first letters and digits, at most three. A shorter head is a
    whole word, because something else follows it; otherwise the prefix may begin any word. Both
    groups are returned."""
    found: dict[bytes, list[int]] = {}
    anywhere = []
    for number, (prefix, _, _) in enumerate(token_prefixes()):
        head = prefix.encode().translate(_WORDS).split(b" ")[0]
        if len(head) < _HEAD and len(head) == len(prefix):
            anywhere.append(number)
        else:
            found.setdefault(head[:_HEAD], []).append(number)
    return found, tuple(anywhere)


def find_prefixes(runs: str) -> list[Prefix]:
    """Return the prefixes that begin a word in runs of token characters."""
    shadow = runs.encode("ascii", "replace")
    if "\\" in runs:  # the letter of an escaped line end is not part of the word
        for escape in (b"\\n", b"\\r", b"\\t"):
            shadow = shadow.replace(escape, b"  ")
    table, anywhere = _by_head()
    heads = {word[:_HEAD] for word in shadow.translate(_WORDS).split()}
    numbers = sorted(
        [*anywhere, *(number for head in heads & table.keys() for number in table[head])]
    )
    known = token_prefixes()
    return [known[number] for number in numbers if known[number][0] in runs]


@cache
def token_openings() -> tuple[str, ...]:
    """Return the beginnings of tokens, for `str.startswith`; two letters say too little."""
    return tuple(prefix for prefix, _, _ in token_prefixes() if len(prefix) > 2)
