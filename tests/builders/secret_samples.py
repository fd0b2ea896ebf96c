"""Secrets made when the tests run, and the places where they turn up: nothing here looks like one."""

from __future__ import annotations

import base64
import json
import random
import string

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
URL64 = ALNUM + "_-"


def fake(alphabet: str, length: int, seed: int = 1) -> str:
    """Random characters, the same ones on every run."""
    return "".join(random.Random(f"{alphabet}{length}{seed}").choices(alphabet, k=length))


def uuid(seed: int = 1) -> str:
    digits = fake(HEX, 32, seed)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def jwt() -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "somebody"})
    encoded = [base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts]
    return ".".join([*encoded, fake(URL64, 43)])


def key_block(kind: str = "RSA ", end: bool = True) -> str:
    lines = "\n".join(fake(ALNUM + "+/", 64, seed) for seed in range(12))
    close = f"\n-----END {kind}PRIVATE" + " KEY-----" if end else ""
    return f"-----BEGIN {kind}PRIVATE" + f" KEY-----\n{lines}\n{fake(ALNUM, 22)}=={close}"


TOKENS = {
    "aws-key": "AK" + "IA" + fake(BASE32, 16),
    "google-key": "AI" + "za" + fake(URL64, 34) + "Q",
    "google-oauth": "GOC" + "SPX-" + fake(URL64, 28),
    "azure-key": "Zk4" + "8Q~" + fake(ALNUM, 34),
    "digitalocean": "dop_" + "v1_" + fake(HEX, 64),
    "databricks": "da" + "pi" + fake(HEX, 32),
    "github-classic": "gh" + "p_" + fake(ALNUM, 36),
    "github-fine": "github" + "_pat_" + fake(ALNUM, 22) + "_" + fake(ALNUM, 59),
    "gitlab": "gl" + "pat-" + fake(URL64, 20),
    "npm": "np" + "m_" + fake(ALNUM, 36),
    "pypi": "pypi-" + "AgEIcHlwaS5vcmc" + fake(URL64, 120),
    "docker": "dckr" + "_pat_" + fake(URL64, 27),
    "vault": "hv" + "s." + fake(ALNUM, 90),
    "terraform": fake(ALNUM, 14) + ".atlas" + "v1." + fake(URL64, 64),
    "atlassian": "ATATT" + "3xFfGF0" + fake(URL64, 180),
    "slack-bot": "xox" + "b-" + fake(string.digits, 12) + "-" + fake(ALNUM, 24),
    "slack-app": "xap" + "p-1-A" + fake(BASE32, 10) + "-" + "1" * 6 + "23456-" + fake(HEX, 64),
    "discord": "MT" + fake(ALNUM, 22) + "." + fake(URL64, 6) + "." + fake(URL64, 38),
    "telegram": "5839574813" + ":A" + "A" + fake(URL64, 33),
    "stripe": "sk_" + "live_" + fake(ALNUM, 24),
    "stripe-hook": "wh" + "sec_" + fake(ALNUM, 32),
    "square": "sq0" + "csp-" + fake(URL64, 43),
    "shopify": "shp" + "at_" + fake(HEX, 32),
    "sendgrid": "S" + "G." + fake(URL64, 22) + "." + fake(URL64, 43),
    "twilio": "S" + "K" + fake(HEX, 32),
    "mailgun": "ke" + "y-" + fake(HEX, 32),
    "mailchimp": fake(HEX, 32) + "-us" + "12",
    "newrelic": "NR" + "AK-" + fake(BASE32, 27),
    "grafana": "gls" + "a_" + fake(ALNUM, 32) + "_" + fake(HEX, 8),
    "openai-legacy": "s" + "k-" + fake(ALNUM, 48),
    "openai-project": "sk-" + "proj-" + fake(URL64, 120),
    "anthropic": "sk-" + "ant-api03-" + fake(URL64, 93) + "AA",
    "openrouter": "sk-" + "or-v1-" + fake(HEX, 64),
    "groq": "gs" + "k_" + fake(ALNUM, 52),
    "huggingface": "h" + "f_" + fake(string.ascii_letters, 34),
    "replicate": "r" + "8_" + fake(ALNUM, 37),
    "linear": "lin_" + "api_" + fake(ALNUM, 40),
    "notion": "nt" + "n_" + fake(ALNUM, 46),
    "age": "AGE-SECRET" + "-KEY-1" + fake(BASE32, 58),
    "jwt": jwt(),
    "airtable": "pa" + "t" + fake(ALNUM, 14) + "." + fake(HEX, 64),
    "alibaba": "LT" + "AI" + fake(ALNUM, 12),
    "aws-session": "IQoJb3" + "JpZ2lu" + "X2Vj/" + fake(ALNUM + "+/", 240) + "==",
    "fly": "fm" + "2_lJPEC/" + fake(ALNUM, 10) + "+" + fake(ALNUM + "+/", 100) + "==",
    "paypal": "access" + "_token$production$" + fake(ALNUM, 16) + "$" + fake(HEX, 32),
    "salesforce": "00" + "D" + fake(ALNUM, 12) + "!AQ" + fake(ALNUM + "_.", 94) + "q",
    "stripe-hook-64": "wh" + "sec_" + fake(ALNUM, 8) + "/" + fake(ALNUM, 18) + "+" + fake(ALNUM, 8),
    "yandex": "t1" + "." + fake(URL64, 22) + "." + fake(URL64, 86),
}

CONTEXTS = {
    "alone": "{}",
    "prose": "please use {} for the staging server, thanks",
    "at the end of a sentence": "It is {}.",
    "backticks": "the value is `{}` as you see",
    "double quotes": 'client = Client("{}")',
    "single quotes": "headers = ['{}', 2]",
    "json": '{{"value": "{}", "other": 1}}',
    "json in json": '{{\\"value\\": \\"{}\\"}}',
    "escaped line ends": "first\\n{}\\nlast",
    "yaml": "secret_thing: {}\nnext: 1",
    "environment": "export SOMETHING={}\necho done",
    "query": "https://example.com/api?x={}&page=2",
    "header": 'curl -H "X-Thing: {}" https://example.com',
    "html": "<td>{}</td>",
    "parentheses": "(see {})",
    "a list": "a, {}, b",
    "a diff": "+{}\n-old",
    "a path": "https://example.com/files/{}",
    "markdown": "**{}**",
}


BREAKS = {
    "backtick": "`",
    "double quote": '"',
    "single quote": "'",
    "line end": "\n",
    "indented line": "\n      ",
    "continued line": "\\\n  ",
    "escaped line end": "\\n",
    "zero width space": "\u200b",
    "soft hyphen": "\u00ad",
    "null": "\0",
}


WORD, STRONG, HEXKEY = "hunt" + "er22", "Tr0ub4" + "dor&3x", fake(HEX, 40)

NAMED = [
    ("password: {}", WORD),
    ('"password": "{}"', WORD),
    ("'db_password' => '{}'", WORD),
    ('\\"password\\": \\"{}\\"', WORD),
    ("PGPASSWORD={} psql -h db", "swordfish"),
    ("  MYSQL_ROOT_PASSWORD: {}\n", "swordfish"),
    ("spring.datasource.password={}\n", STRONG),
    ("const dbPassword = '{}';", STRONG),
    ("password: str = '{}'", STRONG),
    ("my password is {} ok?", WORD),
    ("my api key is {}", fake(ALNUM, 32)),
    ("username: admin\npassword: {}\n", "swordfish"),
    ("credentials {{\n  username 'me'\n  password '{}'\n}}", "swordfish"),
    ("The default password for the user 'admin' is '{}'.", "blueberry"),
    ("mysql -u root -p{} shop", STRONG),
    ("tool --user me --password {} --force", "swordfish"),
    ("sshpass -p '{}' ssh host", STRONG),
    ("curl -u admin:{} https://example.com", STRONG),
    ("machine api.example.com login me password {}", WORD),
    ("<password>{}</password>", STRONG),
    ('<add key="SmtpPassword" value="{}"/>', STRONG),
    ("define('DB_PASSWORD', '{}');", "swordfish"),
    ("CREATE USER app IDENTIFIED BY '{}';", STRONG),
    ("Server=db;User ID=sa;Password={};Encrypt=yes", STRONG),
    ("- name: DB_PASSWORD\n  value: {}\n", STRONG),
    ("API_KEY={}", HEXKEY),
    ("CACHE_HOST_PASSWORD={}", "swordfish"),
    ("PRIMARY_API_KEY={}", HEXKEY),
    ("secretkey: {}", HEXKEY),
    ("api_key = '{}'", HEXKEY),
    ('apiKey: "{}",', HEXKEY),
    ("OPENAI_API_KEY={}", fake(ALNUM, 32)),
    ("aws_secret_access_key = {}", fake(ALNUM + "+/", 40)),
    ("secret key: {}", fake(ALNUM + "+/", 40)),
    ("client_secret={}&grant_type=code", fake(ALNUM, 32)),
    ('"refresh_token": "{}"', fake(URL64, 40)),
    ("https://example.com/?access_token={}&x=1", HEXKEY),
    ("--token {} run", fake(ALNUM, 32)),
    ("SECRET_KEY = '{}'", "q!8z^w#" + fake(ALNUM, 30) + "(%=)"),
    ("AccountName=shop;AccountKey={};EndpointSuffix=x", fake(ALNUM, 84) + "=="),
    ("Authorization: Bearer {}", fake(URL64, 40)),
    ("Authorization: Basic {}", base64.b64encode(b"someone:" + STRONG.encode()).decode()),
    ("Authorization: Token {}", HEXKEY),
    ("{{'Authorization': 'Api-Key {}'}}", uuid()),
    ("postgres://shop:{}@db.example.com:5432/shop", WORD),
    ("DATABASE_URL=mysql+pymysql://root:{}@localhost/app", "s3cr" + "et!"),
    ("mongodb+srv://u:{}@cluster0.example.net/?w=majority", "p%40ss" + "w0rd"),
    ("redis://:{}@cache:6379/0", WORD),
    ("https://hooks.slack.com/services/{}", "T" + fake(BASE32, 9) + "/B1/" + fake(ALNUM, 24)),
    ("https://x.blob.core.windows.net/a?sp=r&sig={}", fake(ALNUM, 43) + "%3D"),
    ("root:{}:17431:0:99999:7:::", "$6$" + fake(ALNUM, 16) + "$" + fake(ALNUM, 86)),
    ("the password is: {}", "swordfish"),
    ("CLIENT_SECRET={}", fake(string.ascii_lowercase, 32)),
    ("client_secret: '{}'", fake(string.ascii_letters, 32)),
    ("JWT_SECRET={}", fake(string.digits, 24)),
    ("Cookie: theme=dark; session={}; page=2", fake(HEX, 32)),
    ("Set-Cookie: sid={}; Path=/", fake(HEX, 32)),
    ('{{"Cookie": "session={}"}}', fake(HEX, 32)),
    ('password="{}"', "my very secret phrase"),
    ("password: {}\nhost: db", "correct horse battery staple"),
    ("Das Passwort lautet {}", "Sommer2024!"),
    ("Das Kennwort ist {}", "Sommer2024!"),
    ("le mot de passe est {}", "Ete2024!x"),
    ("redis-cli -h cache -a {} ping", STRONG),
    ("| user | password |\n|---|---|\n| me | {} |\n| you | |", "swordfish"),
    ("| *Password* | user |\n| :-- | --: |\n| `{}` | me |", WORD),
    ("totp secret {}", "JBSWY3DP" + "EHPK3PXP"),
    ('{{\\\\"api_key\\\\": \\\\"{}\\\\"}}', HEXKEY),
    ("https://[REDACTED:github-token]:{}@github.com/x", WORD),
]
