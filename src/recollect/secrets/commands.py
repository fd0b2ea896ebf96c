"""Places that hold a secret: headers and addresses, and command lines with a password.

Tables of patterns: what stands before a secret, and programs with the position of the password.

Most option letters mean something else to other programs (`mkdir -p`, `ssh -p 22`, `docker run -p
80:80`), so each option is tied to its program. `secrets.rules` decides whether the value is a
password, or a variable, port or example.
"""

from __future__ import annotations

from collections.abc import Iterable

_GAP = r"(?:[^\n|;&\\]|&(?!&)|\\(?![nr])\n?){0,200}?"
"""Arguments in between, of one command, which may continue after a backslash."""

_REST = r"[^\n|;]{0,200}?"
_TO_VALUE = r"(?:[ =]{1,4}|\\*[\"'],\s{0,4}(?=\\*[\"']))"
"""Between an option and its value, also as list items: `"-p", "…"`."""

_NOT_YET = r"(?![-$<{\[(*\s]|\\[-nrt\"'])"
"""The start of an option, variable, template or mask: not a password."""

_IN_DOUBLE = _NOT_YET + r"([^\"\n]{3,128}?)(?<![\s\\])\\*\""
_IN_SINGLE = _NOT_YET + r"([^'\n]{3,128}?)(?<![\s\\])\\*'"
_BARE = _NOT_YET + r"((?:[^\s\"'`\\|;<>()&,]|[&,](?![&,\s\"'`])|\\(?![nrt\"'\s])){3,128})"
_VALUE = rf"(?:\\*\"{_IN_DOUBLE}|\\*'{_IN_SINGLE}|{_BARE})"
_OF_USER = (
    rf"(?:\\*\"[^\":\n]{{0,64}}:{_IN_DOUBLE}|\\*'[^':\n]{{0,64}}:{_IN_SINGLE}"
    rf"|[^\s:\"'`]{{0,64}}:[\"']?{_BARE})"
)
"""A user name, a colon and a password."""

_ARGUMENT = r"\s{1,4}[^\s-]\S{0,120}"
_LAST = r"\s{1,4}" + _VALUE


def _option(letter: str, program: str, value: str = _VALUE) -> str:
    """Match an option, then its value."""
    return rf"{program}{_GAP}[\s\"']-{letter}{_TO_VALUE}{value}"


def _attached(letter: str, program: str) -> str:
    """Return a pattern of an option with its value attached: `-psecret`, not `-p secret`."""
    return rf"{program}{_GAP}[\s\"']-{letter}{_VALUE}"


def _either(letter: str, program: str) -> str:
    return rf"{program}{_GAP}[\s\"']-{letter}(?:{_TO_VALUE})?{_VALUE}"


def _any(*patterns: str) -> str:
    return "|".join(patterns)


_SHARED_DASH = "[fgGijkLlnNOpRsSvZ#0-9]*"
_OF_SMB = rf"\\*[\"']?[^\s%\"'$]{{1,64}}%{_VALUE}"
_OF_ORACLE = r"\s[\"']?[\w$#.]{1,64}/(?![$&])([^\s\"'@/]{3,64})"
_FLAGS = r"(?:\s{1,4}-\w{1,8}(?:\s\d{1,2})?){1,6}"
_TO_PIPE = r"(?=[^\n|]{0,300}\|[^\n|;]{0,200}?(?:chpasswd|sudo|-stdin))"
_ECHO = "echo" + _TO_PIPE
_PIPED = (
    r"\\*[\"']?\s{0,4}\|\s{0,4}"
    rf"(?:sudo\s(?:-\w{{1,4}}\s)*-\w{{0,4}}S|{_REST}\s--password-stdin)"
)

COMMANDS = {
    "curl": (
        rf"curl(?:\.exe)?\b{_GAP}[\s\"']"
        rf"(?:(?:-{_SHARED_DASH}[uU]|--(?:proxy-)?user)[ =]*{_OF_USER}"
        r"|(?:-u|--user)[ =]{1,4}[\"']?([^\s:\"'$]{8,128}):[\"'\s])"
    ),
    "http": _option("a", "https?(?= )", _OF_USER),
    "--auth": rf"--auth{_TO_VALUE}{_OF_USER}",
    " login": _option("p", r"(?<=\w) login\b", rf"(?!https?\b|ssh\b){_VALUE}"),
    "psexec": rf"(?i:{_option('p', 'psexec')})",
    "sshpass": rf"sshpass(?:\s-v)?[\s\"',]{{1,6}}-p(?:{_TO_VALUE})?{_VALUE}",
    "mysql": _attached("p", "mysql"),
    "mariadb": _attached("p", "mariadb"),
    "mongo": _option("p", r"mongo(?:sh|dump|restore|export|import|stat|top|files)?(?=[\s\"'])"),
    "cqlsh": _option("p", "cqlsh"),
    "redis-cli": _option("a", "redis-cli"),
    "sqlcmd": _either("P", "sqlcmd"),
    "bcp": _either("P", "bcp(?= )"),
    "sqlplus": rf"sqlplus(?:\s-\w{{1,9}})*{_OF_ORACLE}(?=[@\s\"']|\Z)",
    "expdp": rf"expdp{_OF_ORACLE}(?=@)",
    "impdp": rf"impdp{_OF_ORACLE}(?=@)",
    "ldap": _any(
        _either(r"\w{0,8}w", r"ldap(?:search|modify|add|delete|passwd|whoami|compare|modrdn)"),
        _option("[as]", "ldappasswd"),
    ),
    "-pass": rf"-pass(?:in|out)?(?:\s{{1,4}}|\\*[\"'],\s{{0,4}})\\*[\"']?pass:{_VALUE}",
    "/pass:": rf"/pass:{_VALUE}",
    "htpasswd": (
        r"htpasswd(?=[^\n|;]{0,60}\s-\w{0,8}b)"
        rf"(?:(?=[^\n|;]{{0,60}}\s-\w{{0,8}}n){_FLAGS}|{_FLAGS}{_ARGUMENT}){_ARGUMENT}{_LAST}"
    ),
    "chpasswd": rf"chpasswd\s{{0,4}}<<<\s{{0,4}}{_OF_USER}",
    "wpa_passphrase": rf"wpa_passphrase{_ARGUMENT}{_LAST}",
    "generic-password": rf"generic-password{_GAP}\s-w{_LAST}",
    "internet-password": rf"internet-password{_GAP}\s-w{_LAST}",
    "-password-stdin": rf"-password-stdin{_GAP}<<<\s{{0,4}}{_VALUE}",
    "openssl": _any(
        rf"openssl\s{{1,4}}(?:enc\b|aes|des){_GAP}\s-[kK]{_LAST}",
        rf"openssl\s{{1,4}}passwd(?:\s{{1,4}}-(?:[156]|apr1|noverify|salt\s\S+))*{_LAST}",
    ),
    "ssh-keygen": _option("[NP]", "ssh-keygen"),
    "security": _any(
        _option("p", r"security\s(?:unlock|create)-keychain"),
        _option("P", r"security\simport"),
    ),
    "zip": _either(r"\w{0,8}P", r"zip(?:cloak)?(?=[\s\"'])"),
    "7z": _attached("p", r"7z[arz]?(?=[\s\"'])"),
    "rar": _attached("h?p", r"rar(?=[\s\"'])"),
    "smb": _option("U", "smb", _OF_SMB),
    "rpcclient": _option("U", "rpcclient", _OF_SMB),
    "net use": _any(
        r"(?i:net use)\s{1,4}(?:[A-Za-z*]:?\s{1,4})?\\{2,8}\S{1,200}\s{1,4}"
        rf"(?:/[uU](?i:ser)?:\S{{1,80}}\s{{1,4}}(?!/){_VALUE}|(?!/){_VALUE}(?=\s{{1,4}}/[uU]))",
        r"(?i:net user)\s{1,4}[\w.-]{1,64}\s{1,4}(?!/)" + _VALUE + r"(?=\s{1,4}/(?i:add|dom))",
    ),
    "rabbitmqctl": rf"rabbitmqctl{_GAP}\s(?:add_user|change_password){_ARGUMENT}{_LAST}",
    "ipmitool": _option("P", "ipmitool"),
    "mosquitto_": _option("P", "mosquitto_"),
    "snmp": _option("[AX]", r"snmp\w{2,9}"),
    "plink": _option("pw", "plink"),
    "pscp": _option("pw", "pscp"),
    "psftp": _option("pw", "psftp"),
    "freerdp": rf"freerdp\d?{_GAP}\s/p:{_VALUE}",
    "rdesktop": _option("p", "rdesktop"),
    "lftp": _option("u", "lftp", rf"[\"']?[\w.@-]{{1,64}},{_VALUE}"),
    "nmcli": rf"nmcli{_GAP}\spassword{_LAST}",
    "twine": _option("p", "twine"),
    "sudo -s": rf"sudo -S{_GAP}<<<\s{{0,4}}{_VALUE}",
    "echo": _any(
        rf"{_ECHO}(?:\s-[ne]{{1,2}})?\s{{1,4}}{_OF_USER}\\*[\"']?\s{{0,4}}\|[^\n|;]{{0,40}}?chpasswd",
        rf"{_ECHO}(?:\s-[ne]{{1,2}})?\s{{1,4}}{_VALUE}{_PIPED}",
    ),
    "printf": rf"printf{_TO_PIPE}(?:\s{{1,4}}\\*[\"']?%s(?:\\{{1,2}}n)?\\*[\"']?)?{_LAST}{_PIPED}",
}
"""A text in lower case, and a pattern that begins with it; the last matching group is the password.
"""

_SEVERAL = {
    "mysql": "mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlsh",
    "mariadb": "mariadb mariadb-dump mariadb-admin",
    "mongo": "mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop",
    "ldap": "ldapsearch ldapmodify ldapadd ldapdelete ldappasswd ldapwhoami ldapcompare ldapmodrdn",
    "zip": "zip unzip zipcloak",
    "7z": "7z 7za 7zr 7zz",
    "rar": "rar unrar",
    "smb": "smbclient smbget smbmap smbcacls",
    "snmp": "snmpwalk snmpget snmpset snmpbulkwalk snmpgetnext snmptable snmptrap",
    "mosquitto_": "mosquitto_pub mosquitto_sub mosquitto_rr",
    "freerdp": "freerdp xfreerdp xfreerdp3 wlfreerdp sdl-freerdp",
    "psexec": "psexec psexec64",
    "http": "http https",
    "net use": "net",
    "sudo -s": "sudo",
    "generic-password": "add-generic-password find-generic-password",
    "internet-password": "add-internet-password find-internet-password",
}

_WORD = "abcdefghijklmnopqrstuvwxyz0123456789_.-"


def names_program(lower: str, hint: str, places: Iterable[int]) -> bool:
    """Check whether one of the places of a command's first text is in the name of its program, as a
    whole word. The letter of an escaped line end (`\\n`) may stand before it. A text that begins
    with a sign needs no program."""
    if not hint[0].isalnum():
        return True
    names = _SEVERAL.get(hint, hint).split()
    for at in places:
        before, behind = lower[max(0, at - 7) : at], lower[at : at + 20]  # no name is longer
        word = before[len(before.rstrip(_WORD)) :] + behind[: -len(behind.lstrip(_WORD)) or None]
        name = word.removesuffix(".exe")
        if name in names or (name[1:] in names and name[0] in "nrt"):
            return True
    return False


# ---------------------------------------------------------------------------------------------
# Headers and addresses

_CONNECTION = r"[^;\n\"']{1,64};\s?(?:password|pwd)=([^\s;\"'<>]{3,128})"

CONTEXTS = (
    (
        "webhook",
        "hook",
        r"hook(?:s\.slack\.com/[a-z]{4,12}/|s\.zapier\.com/hooks/catch/|s/|(?:b2)?/(?:send\?key=)?)"
        r"([\w%@/-]{20,})",
    ),
    ("signed-url", "sig=", r"(?i)(?<=[?&-])sig=([\w%/+=-]{40,})"),
    ("signed-url", "signature=", r"(?i)(?<=[?&-])signature=([\w%/+=-]{40,})"),
    ("device-token", "thingsboard.", r"thingsboard\.(?:cloud|io)/api/v1/(\w{20})(?=/)"),
    (
        "url-password",
        "://",
        # A redacted user name contains a colon of its own.
        r"://(?:[^\s:/@'\"`<>\\\[]|\[REDACTED:[\w-]{1,40}\]){0,99}:([^\s/?'\"`<>\\]{1,256})@"
        r"(?!sha256:)[\w[$%.-]",
    ),
    ("bearer-token", "bearer", r"(?i)(?<!\w)bearer[ :]\s{0,4}([\w.~+/=-]{16,})"),
    ("basic-auth", "basic ", r"(?i)(?<!\w)basic\s{1,4}([\w+/]{8,}={0,2})"),
    (
        "authorization",
        "authorization",
        r"(?i)authorization(?:\\*[\"']\s{0,4}[:=,]|\s{0,4}[:=])\s{0,4}\\*[\"']?"
        r"(?:[a-z][\w-]{1,15} {1,4})?(?=[^\s\"']{0,64}\d)([^\s\"'\\,;$<{(][^\s\"'\\,;]{7,})",
    ),
    (
        "passphrase",
        "pass",
        r"(?i)pass(?:word|wort|phrase|code|wd)[ \t]{0,4}[:=][ \t]{0,4}"
        r"((?:[a-z]{2,12}[ -]){3,9}[a-z]{2,12})(?=[ \t]{0,9}(?:[\r\n]|\Z))",
    ),
    ("password", "user id=", r"(?i)user id=" + _CONNECTION),
    ("password", "uid=", r"(?i)uid=" + _CONNECTION),
    (
        "password",
        "identified",
        r"(?i)identified\s{1,4}(?:with\s\S{1,40}\s)?by\s{1,4}'([^'\n]{4,128})'",
    ),
    (
        "password",
        "credential(",
        r"(?i)credential\(\s{0,9}\"[^\"\n]{0,99}\"\s{0,9},\s{0,9}\"([^\"\n]{4,99})\"",
    ),
    ("password", ":5432:", r":5432:[\w*-]{1,64}:[\w.*-]{1,64}:([^\s:]{3,128})(?!\S)"),
    ("vault-key", "unseal", r"unseal\s{1,4}([\w+/]{40,}={0,2})"),
    ("reporter-id", "reporter_id", r"(?i)reporter_id\W{1,4}([\da-f]{64})"),
    ("sidekiq-key", "contribsys", r"(?i)contribsys__com\W{1,4}([\da-f]{8}:[\da-f]{8})\b"),
    ("token", "wandb login", r"wandb login(?:\s--?\w+)?\s{1,4}(\w{40})"),
    ("token", "snyk auth", r"snyk auth\s{1,4}(\w[\w-]{35})"),
    ("token", "authtoken ", r"authtoken\s{1,4}(\w{40,})"),
    (
        "password-hash",
        "$",
        r"(?<![\w$])(\$(?:[1567y]|2[abxy]|apr1|argon2\w{1,2}|scrypt|sha1)\$[\w./$,=+-]{20,}"
        r"|\$krb5\w{2,9}\$[\w./$,=+*@:-]{20,})",
    ),
    (
        "password-hash",
        "pbkdf2",
        r"(pbkdf2[_:]sha\d{1,3}[$:]\d{3,9}[$:][\w./+]{4,64}[$:][\w./+=]{20,})",
    ),
)
"""Type, a text in lower case, and a pattern that begins with it; its group is the secret."""
