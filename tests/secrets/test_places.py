"""Secrets behind escape sequences, in command lines and as default values."""

from __future__ import annotations

import json

import pytest

from recollect.secrets.redaction import redact, redact_and_report
from recollect.secrets.search import find_secrets
from tests.builders.secret_samples import ALNUM, HEX, HEXKEY, STRONG, TOKENS, fake

ESC = "\x1b"
SEQUENCES = {
    "colour": ESC + "[31m",
    "bold and colour": ESC + "[1;31m",
    "one of 256 colours": ESC + "[38;5;208m",
    "true colour": ESC + "[38;2;255;100;0m",
    "colour with colons": ESC + "[38:5:208m",
    "reset": ESC + "[m",
    "erase line": ESC + "[K",
    "cursor": ESC + "[2J" + ESC + "[1;1H",
    "private mode": ESC + "[?25h",
    "character set": ESC + "(B",
    "tmux reset": ESC + "(B" + ESC + "[m",
    "save cursor": ESC + "7",
    "title, bell": ESC + "]0;a title\x07",
    "link, string terminator": ESC + "]8;;https://example.com" + ESC + "\\",
    "one character for ESC [": "\x9b31m",
    "written \\x1b": "\\x1b[31m",
    "written \\x1B": "\\x1B[0;31m",
    "written \\e": "\\e[31m",
    "written \\033": "\\033[1;31m",
    "written \\u001b": "\\u001b[31m",
    "written \\u001B": "\\u001B[31m",
    "written \\u{1b}": "\\u{1b}[31m",
    "written twice over": "\\\\u001b[31m",
    "written title": "\\u001b]0;a title\\u0007",
    "caret": "^[[31m",
    "symbol": "\u241b[31m",
    "without its ESC": "[31m",
}
PLAIN_KINDS = ["github-classic", "aws-key", "openai-project", "anthropic", "stripe", "npm", "jwt"]


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=SEQUENCES)
@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_behind_an_escape_sequence_is_taken_out(kind: str, sequence: str) -> None:
    clean = redact_and_report(f"it is {sequence}{TOKENS[kind]}{sequence} ok")
    assert clean.text == f"it is {sequence}[REDACTED:{clean.found[0]}]{sequence} ok"


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=SEQUENCES)
@pytest.mark.parametrize("kind", PLAIN_KINDS)
@pytest.mark.parametrize("at", [3, 12, 19])
def test_a_token_with_an_escape_sequence_inside_goes_whole(
    kind: str, sequence: str, at: int
) -> None:
    token = TOKENS[kind]
    clean = redact_and_report(f"use {token[:at]}{sequence}{token[at:]} now")
    assert clean.text == f"use [REDACTED:{clean.found[0]}] now"


@pytest.mark.parametrize("kind", PLAIN_KINDS)
def test_coloured_tokens_are_found_far_from_each_other_in_a_long_text(kind: str) -> None:
    token, far = TOKENS[kind], "words that say nothing " * 60
    text = f"{far}{ESC}[31m{{}}{ESC}[0m {far}use {{}} {far}"
    clean = redact_and_report(text.format(token, f"{token[:9]}{ESC}[1m{token[9:]}"))
    assert clean.text == text.format(*[f"[REDACTED:{clean.found[0]}]"] * 2)


@pytest.mark.parametrize("kind", PLAIN_KINDS)
def test_letters_before_a_colour_do_not_hide_the_token_behind_it(kind: str) -> None:
    for sequence in (ESC + "[0m", "\\u001b[0m", "[0m"):
        clean = redact_and_report(f"key{sequence}{TOKENS[kind]}")
        assert clean.text == f"key{sequence}[REDACTED:{clean.found[0]}]"


@pytest.mark.parametrize(
    "text",
    [
        "{on}password{off}: {on}{secret}{off}",
        "{on}DB_PASSWORD{off}={on}{secret}{off}",
        "{on}export{off} {on}API_TOKEN{off}{on}={off}{on}{key}{off}",
        "postgres://shop:{on}{secret}{off}@db/shop",
        "Authorization: {on}Bearer{off} {on}{key}{off}",
        '{on}"password"{off}: {on}"{secret}"{off}',
    ],
)
@pytest.mark.parametrize(
    ("on", "off"),
    [(ESC + "[32m", ESC + "[0m"), ("\\u001b[32m", "\\u001b[39m"), ("\\e[1;32m", "\\e[0m")],
)
def test_a_value_in_colours_is_taken_out(text: str, on: str, off: str) -> None:
    clean = redact(text.format(on=on, off=off, secret=STRONG, key=HEXKEY))
    assert "[REDACTED:" in clean
    assert STRONG not in clean
    assert HEXKEY not in clean


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=SEQUENCES)
def test_json_stays_json_when_a_coloured_token_is_taken_out_of_its_text(sequence: str) -> None:
    token = TOKENS["github-classic"]
    text = json.dumps({"out": f"a {sequence}{token[:9]}{sequence}{token[9:]}{sequence} b"})
    clean = redact(text)
    assert token[9:] not in clean
    assert json.loads(clean)["out"].startswith("a ")


@pytest.mark.parametrize("mark", ["\\u003d", "\\u0026", "\\x3d", "\\b", "\\f", "%3D", "%20", "%3d"])
@pytest.mark.parametrize("kind", TOKENS)
def test_a_written_out_character_does_not_hide_the_token_behind_it(kind: str, mark: str) -> None:
    clean = redact_and_report(f"see {mark}{TOKENS[kind]} ok")
    assert clean.text == f"see {mark}[REDACTED:{clean.found[0]}] ok"


@pytest.mark.parametrize(
    "text",
    [
        f"{ESC}[32mPASS{ESC}[0m tests/test_tokenizer.py {ESC}[2m(3 tests){ESC}[22m",
        f"{ESC}[1mpassword{ESC}[0m: required, {ESC}[1mtoken{ESC}[0m: optional",
        f"{ESC}[33m3f2a9c1b7d4e5f60718293a4b5c6d7e8f9012345{ESC}[m (HEAD -> main)",
        f"{ESC}[31m-{ESC}[m password = getpass() {ESC}[32m+{ESC}[m password = ask()",
        "print('\\033[1mtoken\\033[0m', '\\x1b[31mkey\\x1b[0m')",
        "colour = re.compile(r'\\x1b\\[[0-9;]*m')",
        "path = 'C:\\\\Users\\\\me\\\\x1b\\\\e[0]'",
        "https://example.com/a%20b?q=%E2%80%93&next=%2Fhome",
        "a[0] = b[10m] # [12mm]",
    ],
)
def test_escape_sequences_alone_change_nothing(text: str) -> None:
    assert redact_and_report(text) == (text, ())


# ---------------------------------------------------------------------------------------------
# Command lines

COMMANDS = [
    "curl -u admin:{} https://example.com",
    "curl -uadmin:{} https://example.com",
    "curl -sSLu admin:{} https://example.com",
    "curl --user admin:{} https://example.com",
    "curl --user=admin:{} https://example.com",
    "curl -s -X POST https://example.com -H 'Accept: application/json' \\\n  -u 'admin:{}'",
    'curl -u "admin:{}" https://example.com',
    'curl -u "$USER:{}" https://example.com',
    "curl --proxy-user me:{} https://example.com",
    "curl -x proxy:3128 -U me:{} https://example.com",
    "curl.exe -u admin:{} https://example.com",
    "http -a admin:{} GET https://example.com",
    "http --auth admin:{} GET https://example.com",
    "wget --user=me --password={} https://example.com",
    "wget --http-password {} https://example.com",
    "ldapsearch -x -D cn=admin,dc=example -w {} -b dc=example",
    "ldapsearch -x -D cn=admin -w '{}' -b dc=example",
    "ldapmodify -xw {} -f change.ldif",
    "ldappasswd -x -s {} uid=me",
    "openssl rsa -in key.pem -passin pass:{} -out plain.pem",
    "openssl pkcs12 -export -in a.pem -passout 'pass:{}' -out a.p12",
    "openssl enc -aes-256-cbc -pass pass:{} -in a",
    "openssl enc -d -aes-256-cbc -in a -k {}",
    "openssl passwd -6 {}",
    'run(["openssl", "rsa", "-passin", "pass:{}"])',
    "zip -P {} out.zip file",
    "zip -rP {} out.zip folder",
    "zip -r -P{} out.zip folder",
    "unzip -P {} out.zip",
    "7z a -p{} out.7z file",
    "7za x out.7z -p{} -y",
    "rar a -hp{} out.rar file",
    "unrar x -p{} out.rar",
    "mysql -u root -p{} shop",
    "mysqldump -uroot -p'{}' shop > dump.sql",
    "mysqladmin -h db -p{} ping",
    "mariadb -u root -p{} shop",
    "mysql --password={} shop",
    'run(["mysql", "-u", "root", "-p{}"])',
    "PGPASSWORD={} psql -h db",
    "psql 'host=db user=me password={}'",
    "redis-cli -h cache -a {} ping",
    "REDISCLI_AUTH={} redis-cli ping",
    "sshpass -p {} ssh -p 2222 host",
    "sshpass -p{} ssh host",
    'run(["sshpass", "-p", "{}", "ssh", "host"])',
    "SSHPASS={} sshpass -e ssh host",
    "docker login -u me -p {} registry.example.com",
    "docker login registry.example.com -u me -p '{}'",
    "podman login -u me -p {} quay.io",
    "helm registry login -u me -p {} registry.example.com",
    "oc login https://api.example.com -u me -p {}",
    "az login --service-principal -u id -p {} --tenant t",
    "htpasswd -b .htpasswd me {}",
    "htpasswd -cb .htpasswd me {}",
    "htpasswd -nbB me {}",
    "htpasswd -n -b -C 10 me {}",
    "mongo -u me -p {} db/shop",
    "mongosh --host db -u me -p '{}'",
    "mongodump -u me -p={} --out dump",
    "smbclient //host/share -U me%{}",
    "smbclient //host/share -U 'DOMAIN\\me%{}' -c ls",
    "rpcclient -U me%{} host",
    "mount -t cifs //host/share /mnt -o username=me,password={}",
    "net use Z: \\\\host\\share {} /user:me",
    "net use \\\\host\\share /user:DOMAIN\\me {}",
    "net user me {} /add",
    "ansible_become_pass: {}",
    "ansible_ssh_pass: {}",
    "ansible_sudo_pass={}",
    "ansible_become_password: {}",
    "db1 ansible_host=10.0.0.1 ansible_user=me ansible_ssh_pass={}",
    "keytool -genkey -alias a -storepass {} -keystore ks",
    "keytool -importkeystore -srcstorepass {}",
    "jarsigner -keypass {} app.jar a",
    "gpg --batch --yes --passphrase {} -c file",
    "gpg --passphrase='{}' -d file.gpg",
    "sqlcmd -S db -U sa -P {} -Q 'select 1'",
    "sqlcmd -S db -U sa -P'{}'",
    "bcp shop.dbo.t out t.csv -S db -U sa -P {}",
    "sqlplus me/{}@//db:1521/shop",
    "expdp me/{}@shop directory=d",
    "rabbitmqctl add_user me {}",
    "rabbitmqctl change_password me {}",
    "ipmitool -I lanplus -H bmc -U me -P {} power status",
    "mosquitto_pub -h broker -u me -P {} -t a -m b",
    "snmpwalk -v3 -u me -A {} host",
    "plink -ssh me@host -pw {} ls",
    "pscp -pw {} a me@host:",
    "xfreerdp /u:me /p:{} /v:host",
    "rdesktop -u me -p {} host",
    "cmdkey /add:host /user:me /pass:{}",
    "cqlsh -u me -p {} db",
    "lftp -u me,{} ftp.example.com",
    "ssh-keygen -t ed25519 -N '{}' -f key",
    "ssh-keygen -p -P {} -N '' -f key",
    "nmcli dev wifi connect home password {}",
    "wpa_passphrase home {}",
    "security unlock-keychain -p {} build.keychain",
    "security import cert.p12 -k build.keychain -P {} -T /usr/bin/codesign",
    "security add-generic-password -a me -s shop -w {}",
    "twine upload -u me -p {} dist/*",
    "echo '{}' | sudo -S apt-get update",
    "echo {} | sudo -S -k ls",
    "echo 'me:{}' | chpasswd",
    'echo "root:{}" | sudo chpasswd',
    "echo {} | docker login -u me --password-stdin registry.example.com",
    "printf '%s' '{}' | docker login -u me --password-stdin",
    "sudo -S ls <<< '{}'",
    "psexec \\\\host -u me -p {} cmd",
]
WORDS = ["swordfish", STRONG, "Winter-2024"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("secret", WORDS)
def test_a_password_in_a_command_line_is_taken_out_and_nothing_else(
    command: str, secret: str
) -> None:
    text = command.format(secret)
    clean = redact_and_report(text)
    assert clean.text == command.format(f"[REDACTED:{clean.found[0]}]")
    assert find_secrets(f"$ {text}\nand then words that are not secrets at all\n") != []


def test_a_command_line_in_json_in_markdown_and_with_two_passwords() -> None:
    one, two = "swordfish", STRONG
    text = json.dumps({"command": f'mysql -u root -p"{one}" shop && unzip -P {two} a.zip'})
    assert redact(text) == text.replace(one, "[REDACTED:password]").replace(
        two, "[REDACTED:password]"
    )
    assert redact(f"Run `mysql -p{one}`.") == "Run `mysql -p[REDACTED:password]`."
    both = "openssl pkcs12 -passin pass:{} -passout pass:{} -in a"
    assert redact(both.format(one, two)) == both.format(*["[REDACTED:password]"] * 2)
    both = "snmpget -v3 -A {} -X {} host"
    assert redact(both.format(one, two)) == both.format(*["[REDACTED:password]"] * 2)


@pytest.mark.parametrize(
    "text",
    [
        "mkdir -p src/components/login && cp -p a b",
        "mkdir -p /var/lib/mysql && chown mysql /var/lib/mysql",
        "docker run -d -p 8080:80 --name web nginx",
        "docker run -d --name mysql -p 13306:3306 mysql:8",
        "docker run -p 27018:27017 mongo -p 27018:27017",
        "docker run --name redis-cli -p 6380:6379 redis",
        "docker compose -p shop up -d mysql",
        "gcc main.c -lmysqlclient -pthread",
        "ssh -p 2222 me@host; scp -P 2222 a me@host:",
        "ssh login.example.com -p 2222",
        "rsync -e 'ssh -p 22022' a host:",
        "sshpass -e ssh -p 2222 me@host",
        "sshpass -f ~/.pw ssh -p 2222 me@host",
        "sshpass -p \"$PW\" ssh host; sshpass -p '<password>' ssh host",
        'curl -u "$USER:$PASS" https://example.com',
        "curl -u $USER:$PASS https://example.com",
        "curl -u ${USER}:${PASS} https://example.com",
        "curl -u user:password https://example.com",
        "curl -u user:pass https://example.com",
        "curl -u username https://example.com:8443/",
        "curl -u '<user>:<password>' https://example.com",
        "curl -u admin:$(cat password.txt) https://example.com",
        "curl --user-agent 'Mozilla/5.0: test agent' https://example.com",
        "curl -o out:file.txt https://example.com; curl -sS -o /dev/null -w '%{http_code}'",
        "curl -H 'Accept: text/html' https://example.com",
        "mysql -u root -p shop < dump.sql",
        "mysql -u root -p\nEnter password:",
        'mysql -u root -p"$MYSQL_ROOT_PASSWORD" shop',
        "mysql -u root -p$PW shop",
        'cmd = "mysql -p" + password + " shop"',
        "cmd = f'mysql -u {user} -p{password} shop'",
        "cmd = 'mysql -u %s -p%s' % (user, password)",
        "mongosh -u me -p --authenticationDatabase admin",
        "docker login -u me --password-stdin registry.example.com",
        "docker login -u me -p $TOKEN registry.example.com",
        "docker login -u $USER -p ${{ secrets.REGISTRY_TOKEN }} ghcr.io",
        "echo $TOKEN | docker login -u me --password-stdin",
        'echo "$PASSWORD" | sudo -S ls',
        "echo ${{ secrets.TOKEN }} | docker login ghcr.io -u me --password-stdin",
        "echo done | tee log; echo 'hello:world' | cat",
        "sudo -S -v; sudo -u postgres psql",
        "ldapsearch -x -W -D cn=admin -b dc=example",
        "ldapsearch -x -y password.txt -w $LDAP_PW",
        "openssl rsa -passin env:KEY_PASS -in key.pem; openssl rsa -passin file:pw.txt",
        "openssl rsa -passin pass:$KEY_PASS; openssl rsa -passin pass:'' -in a",
        "openssl req -x509 -newkey rsa:4096 -keyout key.pem -out cert.pem -days 365 -nodes",
        "openssl passwd -6 -stdin",
        "openssl s_client -connect example.com:443 -key client.key",
        "zip -r out.zip src -x '*.pyc'; gzip -k file; unzip -o out.zip -d dist",
        "tar -czpf out.tgz src; tar -xzf out.tgz -C dist",
        "7z x out.7z -odist -y; 7z l out.7z",
        "pytest -p no:cacheprovider -p xdist tests/test_login.py",
        "python -m pytest tests/login -p pytest_asyncio",
        "npm login; mkdir -p dist",
        "aws sso login -profile dev",
        "az login --tenant example; gh auth login -p https -h github.com",
        "htpasswd -c .htpasswd me",
        "htpasswd -b .htpasswd $USER $PASS",
        "smbclient //host/share -U me; smbclient -L host -U me%",
        "net use Z: \\\\host\\share /persistent:yes; net use Z: /delete",
        "net user me /delete; net users; the net user experience improves",
        "keytool -list -keystore ks -storepass:env KS_PASS",
        "gpg --passphrase-fd 0 --batch -d f; gpg --passphrase-file pw.txt -d f",
        "ssh-keygen -t ed25519 -N '' -f key; ssh-keygen -R host -f known_hosts",
        "redis-cli -h cache -p 6380 ping; redis-cli -a $REDIS_PASS ping",
        "ansible_become_pass: \"{{ vault_become_pass }}\"\nansible_become_password: '{{ pw }}'",
        "ansible_become_pass: !vault |",
        "ansible_become: true\nansible_become_method: sudo\nansible_ssh_pass: $PW",
        "result: pass: all 12 tests; test_login_pass: ok",
        "--- PASS: TestBecomePass2 (0.01s)",
        "sqlcmd -S db -E -Q 'select 1'; sqlplus / as sysdba",
        "rabbitmqctl list_users; rabbitmqctl add_user me $PW",
        "git log -p login.py; git add -p src/login.ts",
        "patch -p1 < login.patch",
        "ps -p 1234; lsof -p 1234; kill -9 1234",
        "cp -p login.html dist/; install -p -m 644 a b",
        "psql -h db -p 5432 -U me shop",
        "% openssl passwd \\-1 \\-salt xxxxxxxx password",
    ],
)
def test_command_lines_without_a_password_are_left_alone(text: str) -> None:
    assert redact_and_report(text) == (text, ())
    assert find_secrets(text + " and so on" * 10) == []


# ---------------------------------------------------------------------------------------------
# Default values

DEFAULTS = [
    'os.getenv("DB_PASSWORD", "{}")',
    "os.environ.get('DB_PASSWORD', '{}')",
    'os.environ.get("db_password", "{}")',
    'os.environ.setdefault("DB_PASSWORD", "{}")',
    'os.getenv("DB_PASSWORD") or "{}"',
    'config("DB_PASSWORD", default="{}")',
    'env.str("DB_PASSWORD", default="{}")',
    'parser.add_argument("--password", type=str, default="{}")',
    '@click.option("--password", default="{}")',
    'process.env.DB_PASSWORD || "{}"',
    "process.env.DB_PASSWORD ?? '{}'",
    "process.env['DB_PASSWORD'] || '{}'",
    "const password = process.env.DB_PASSWORD || `{}`;",
    "import.meta.env.VITE_ADMIN_PASSWORD ?? '{}'",
    'Deno.env.get("DB_PASSWORD") ?? "{}"',
    "ENV['DB_PASSWORD'] || '{}'",
    "ENV.fetch('DB_PASSWORD', '{}')",
    "ENV.fetch('DB_PASSWORD') {{ '{}' }}",
    "env('DB_PASSWORD', '{}')",
    "getenv('DB_PASSWORD') ?: '{}'",
    "$_ENV['DB_PASSWORD'] ?? '{}'",
    "$ENV{{DB_PASSWORD}} // '{}'",
    'System.getenv("DB_PASSWORD") ?: "{}"',
    'System.getenv().getOrDefault("DB_PASSWORD", "{}")',
    'sys.env.getOrElse("DB_PASSWORD", "{}")',
    'Environment.GetEnvironmentVariable("DB_PASSWORD") ?? "{}"',
    'std::env::var("DB_PASSWORD").unwrap_or("{}".to_string())',
    'std::env::var("DB_PASSWORD").unwrap_or_else(|_| "{}".into())',
    'getEnv("DB_PASSWORD", "{}")',
    'viper.SetDefault("db.password", "{}")',
    "${{DB_PASSWORD:-{}}}",
    "${{DB_PASSWORD-{}}}",
    "${{DB_PASSWORD:={}}}",
    '"${{DB_PASSWORD:-"{}"}}"',
    "${{db.password:{}}}",
    "password: ${{DB_PASSWORD:{}}}",
    "{{{{ db_password | default('{}') }}}}",
    "{{{{ lookup('env', 'DB_PASSWORD') | default('{}') }}}}",
]


@pytest.mark.parametrize("code", DEFAULTS)
@pytest.mark.parametrize("secret", WORDS)
def test_the_default_of_a_password_is_taken_out_and_nothing_else(code: str, secret: str) -> None:
    clean = redact_and_report(code.format(secret))
    assert clean.text == code.format(f"[REDACTED:{clean.found[0]}]")


@pytest.mark.parametrize(
    ("code", "secret"),
    [
        ('os.getenv("SECRET_KEY", "{}")', "supersecretkey42"),
        ('process.env.JWT_SECRET || "{}"', "jwt-signing-value"),
        ('process.env.API_KEY || "{}"', HEXKEY),
        ("${{API_TOKEN:-{}}}", fake("abcdef0123456789", 32)),
        ("os.environ.get('CLIENT_SECRET', '{}')", "correcthorsebattery"),
    ],
)
def test_the_default_of_a_key_is_taken_out(code: str, secret: str) -> None:
    clean = redact_and_report(code.format(secret))
    assert clean.text == code.format(f"[REDACTED:{clean.found[0]}]")


@pytest.mark.parametrize(
    "text",
    [
        'getenv("PORT", "8080") getenv("HOST", "localhost") getenv("API_URL", "https://a.b/c")',
        'os.getenv("DB_PASSWORD", "") os.getenv("DB_PASSWORD") os.environ.get("API_KEY", None)',
        'os.getenv("DB_PASSWORD", "changeme") os.getenv("SECRET_KEY", "your-secret-key")',
        'os.getenv("DB_PASSWORD", default_password) os.getenv("SECRET_KEY", "dev")',
        'os.environ.get("API_KEY", "EMPTY") os.getenv("OPENAI_API_KEY", "not-needed")',
        "process.env.PORT || '8080'; process.env.NODE_ENV || 'development'",
        "process.env.DB_PASSWORD || ''; process.env.DB_PASSWORD || config.password",
        "const token = req.token || 'anonymous'; props.password || 'Password'",
        "label = t(password || 'Enter your password')",
        "${DB_PASSWORD:-} ${DB_PASSWORD:?must be set} ${DB_PASSWORD:+set} ${DB_PASSWORD}",
        "${DB_PASSWORD:-$OTHER} ${DB_PASSWORD:-${OTHER}} ${DB_PASSWORD:-$(cat pw)}",
        "${PASSWORD:0:10} ${PASSWORD#prefix} ${PASSWORD%suffix} ${TOKEN//a/b} ${#PASSWORD}",
        "${PORT:-8080} ${HOST:-localhost} ${TOKEN_FILE:-/run/secrets/token}",
        "${DB_PASSWORD_FILE:-/run/secrets/db} ${DB_PASSWORD:-/run/secrets/db}",
        "{{ password | default('') }} {{ port | default('8080') }} {{ token | default(omit) }}",
        'add_argument("--password", help="the password to use", default="")',
        'add_argument("--tokenizer", default="cl100k_base-2024")',
        'either the password or "the other thing", the token or "nothing"',
        'field("password", "label text here") t("password", "fallback words")',
        "a gate such as `require_all_pass` or `pass_rate_at_least`",
    ],
)
def test_defaults_that_are_no_secret_are_left_alone(text: str) -> None:
    assert redact_and_report(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("demo.thingsboard.io/api/v1/{}/telemetry", fake(ALNUM, 20)),
        ("db.example.com:5432:shop:app:{}", STRONG),
        ("sonar_reporter_id {}", fake(HEX, 64)),
        ("BUNDLE_GEMS__CONTRIBSYS__COM {}", "dead0123:beef4567"),
        ("kind: Secret\nmetadata:\n  name: shop\ndata:\n  user: {}\n", "c2hvcC1hZG1pbg"),
        ("https://files.example.com/a?sig={}", fake(ALNUM, 44)),
        ("AZURE_MY_PAT {}", fake(ALNUM, 52)),
    ],
)
def test_a_secret_is_found_where_nothing_else_hints_at_it(text: str, secret: str) -> None:
    assert find_secrets(text.format(secret))
    assert secret not in redact(text.format(secret))
