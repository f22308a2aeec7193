"""Computing codes: top-level domains, file extensions, HTTP statuses, ports, ASCII, script codes; codes never given."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from richter_audit.bench._drafts import Asked, Cell, Object, Slots, cells
from richter_audit.bench._places import Places, country_truth, near_countries
from richter_audit.bench._text_order import normalise_name, order_by_hash, pick, words
from richter_audit.bench._world import World

# IANA's registry of HTTP status codes: the phrases of RFC 9110 and their old names.
HTTP = {
    100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content",
    203: "Non-Authoritative Information", 205: "Reset Content", 206: "Partial Content", 207: "Multi-Status",
    300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
    402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
    407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required",
    412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
    416: "Range Not Satisfiable", 417: "Expectation Failed", 423: "Locked", 421: "Misdirected Request",
    422: "Unprocessable Content", 424: "Failed Dependency", 426: "Upgrade Required", 428: "Precondition Required",
    429: "Too Many Requests", 431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
    504: "Gateway Timeout", 505: "HTTP Version Not Supported", 508: "Loop Detected", 506: "Variant Also Negotiates",
    507: "Insufficient Storage", 511: "Network Authentication Required",
}  # fmt: skip
HTTP_ALIASES = {
    413: ("Payload Too Large", "Request Entity Too Large"),
    422: ("Unprocessable Entity",),
    302: ("Moved Temporarily",),
    414: ("Request-URI Too Long",),
    416: ("Requested Range Not Satisfiable",),
}
# Never given, nor used by well-known servers on their own account.
HTTP_FREE = [
    432, 433, 434, 435, 436, 437, 438, 439, 441, 442, 443, 445, 446, 447, 448, 452, 453, 454, 455, 456, 457, 458,
]  # fmt: skip
HTTP_FREE += [462, 464, 465, 466, 467, 468, 469, 471, 472, 473, 474, 476, 477, 478, 481, 482, 483, 484, 485, 486, 487]
# IANA's registry of service names: well-known ports.
PORTS = {
    20: "FTP data", 21: "FTP", 22: "SSH", 23: "Telnet", 25: "SMTP", 43: "WHOIS", 53: "DNS", 67: "DHCP", 69: "TFTP",
    70: "Gopher", 79: "Finger", 80: "HTTP", 88: "Kerberos", 110: "POP3", 111: "Sun RPC", 119: "NNTP", 123: "NTP",
    143: "IMAP", 161: "SNMP", 179: "BGP", 194: "IRC", 389: "LDAP", 443: "HTTPS", 445: "SMB", 514: "Syslog", 515: "LPD",
    546: "DHCPv6", 554: "RTSP", 587: "SMTP submission", 631: "IPP", 636: "LDAPS", 873: "rsync", 853: "DNS over TLS",
    989: "FTPS data", 990: "FTPS", 993: "IMAPS", 995: "POP3S", 1194: "OpenVPN", 1433: "MS SQL Server", 1521: "Oracle",
    1701: "L2TP", 1723: "PPTP", 1812: "RADIUS", 1883: "MQTT", 2049: "NFS", 3306: "MySQL", 3389: "RDP", 3478: "STUN",
    5060: "SIP", 5222: "XMPP", 5353: "mDNS", 5432: "PostgreSQL", 5671: "AMQPS", 5672: "AMQP", 5900: "VNC",
    6379: "Redis", 6514: "Syslog over TLS", 8883: "MQTT over TLS", 27017: "MongoDB", 11211: "memcached", 9418: "Git",
    3260: "iSCSI", 1080: "SOCKS", 4500: "IPsec NAT traversal",
}  # fmt: skip
PORT_ALIASES = {
    21: ("File Transfer Protocol",), 22: ("Secure Shell",), 25: ("Simple Mail Transfer Protocol",),
    53: ("Domain Name System",), 80: ("Hypertext Transfer Protocol",),
    443: ("HTTP over TLS", "Hypertext Transfer Protocol Secure"), 123: ("Network Time Protocol",),
    110: ("POP", "Post Office Protocol"), 143: ("IMAP4", "Internet Message Access Protocol"),
    161: ("Simple Network Management Protocol",), 179: ("Border Gateway Protocol",),
    389: ("Lightweight Directory Access Protocol",), 445: ("CIFS", "Microsoft-DS", "Server Message Block"),
    587: ("SMTP", "message submission", "submission"), 3389: ("Remote Desktop Protocol", "Remote Desktop"),
    5432: ("Postgres",), 5060: ("Session Initiation Protocol",), 1433: ("Microsoft SQL Server", "SQL Server"),
    631: ("Internet Printing Protocol", "CUPS"), 515: ("Line Printer Daemon", "printer"),
    67: ("BOOTP", "Dynamic Host Configuration Protocol"), 194: ("Internet Relay Chat",), 5900: ("RFB",),
}  # fmt: skip
SHOWN = {
    "vhdl": "VHDL", "systemverilog": "SystemVerilog", "Nimrod": "Nim", "Perl6": "Raku", "VB.net": "Visual Basic .NET",
    "Batchfile": "Windows batch file", "EmacsLisp": "Emacs Lisp", "VimL": "Vim script", "LessCss": "Less",
    "RobotFramework": "Robot Framework", "POVRay": "POV-Ray", "ODIN": "Odin", "autohotkey": "AutoHotkey",
    "COBOLFree": "COBOL", "FStar": "F*", "Gettext Catalog": "gettext catalogue", "HTML+Handlebars": "Handlebars",
    "HTML+Twig": "Twig", "g-code": "G-code", "Protocol Buffer": "Protocol Buffers", "liquid": "Liquid",
    "Java Server Page": "JavaServer Pages", "Web IDL": "Web IDL", "DylanLID": "Dylan", "QML": "QML", "LLVM": "LLVM IR",
    "WebGPU Shading Language": "WGSL", "ASN.1": "ASN.1", "Coldfusion HTML": "ColdFusion", "teal": "TEAL",
    "reStructuredText": "reStructuredText", "Csound Document": "Csound", "Debian Sources file": "Debian sources",
}  # fmt: skip
MORE_NAMES = {
    "Raku": ("Perl 6",), "Windows batch file": ("batch", "batch file", "DOS batch"),
    "Vim script": ("VimScript", "Vimscript", "VimL"), "Visual Basic .NET": ("VB.NET", "Visual Basic"),
    "Bash": ("shell", "shell script", "Bourne shell"), "Delphi": ("Pascal", "Object Pascal"),
    "JSX": ("React", "JavaScript"), "TSX": ("React", "TypeScript"), "Common Lisp": ("Lisp",),
    "Emacs Lisp": ("Elisp", "Lisp"), "Protocol Buffers": ("protobuf", "Protobuf"),
    "Mathematica": ("Wolfram Language", "Wolfram"), "TeX": ("LaTeX",), "Standard ML": ("SML",),
    "Terraform": ("HCL", "HashiCorp Configuration Language"), "Graphviz": ("DOT",), "CUDA": ("CUDA C++",),
    "Groff": ("troff",), "Literate Haskell": ("Haskell",), "Sass": ("Syntactically Awesome Style Sheets",),
    "Verilog": ("SystemVerilog",), "Pug": ("Jade",), "Diff": ("patch", "unified diff"), "INI": ("configuration file",),
    "Windows Registry": ("registry",),
}  # fmt: skip
# Extensions tied to one language in general use, well known and less so; others mean several things.
FAMILIAR = words(
    "py js java rb go rs php swift kt scala hs lua sh bat ps1 html css scss sass less json xml yaml md "
    "tex cs cpp ts dart erl ex clj groovy jl vb sql svg coffee jsx tsx vue toml ini tcl awk cmake diff "
    "f90 lisp pas proto rst vim zig elm nim graphql tf ino pyx cu gradle"
)
LESSER = words(
    "abap adb agda ahk applescript asn1 au3 bib bmx boo bqn c capnp carbon ceylon chpl clay cob cr csd "
    "cypher d dts dtd dyalog dylan eex el exs factor fish fnl fst fut gap gcode gleam gml golo gs gv "
    "haml hbs hlsl hrl hx hy idr ijs io jsonnet jsp kts ksh lhs lidr liquid ll lsl ly m2 mojo moon mq4 "
    "mxml nasm nix nsi odin org pike pony pov purs pug qml raku re rego rexx rkt robot sas scad scm sci "
    "sml sol sparql spice stan sv swg thrift twig typ vala vbs vhdl vy wast webidl wgsl wren x10 xq "
    "xtend yang zeek zep ada als boa bpl cfm cljs cry cuh dpr ebuild elpi eml gemspec groovy gsp hxml "
    "idl icl jdn jinja kql lagda lgt mjs mli ndjson nb nimrod objdump opa pddl pig pml po pot praat prql "
    "psm1 ptx qvs rnc rake rktl rei savi scaml scdoc shex shen siv slim smali smithy smv sp ssp svh tact "
    "tea tid treetop twig usda vapi vcl vert wat whiley xquery xsd wsdl xpl yar"
)
PRINTED = range(33, 127)  # the characters of ASCII that can be seen
NOT_ASCII = dict.fromkeys("éèüöäßñçåøæœ€£¥§©®±µ¶·¿¡«»×÷°²³¼½¾ÀÉÜÑÇØÅÞðþłşğžščřůőąęłńśźżαβγδπΩЖдя")
# Top-level domains that no country of GeoNames has, and that are or were in use.
MORE_DOMAINS = frozenset(words(".eu .su .uk .ac .gb .tp .yu .dd .zr .oc"))


def software(world: World) -> dict[str, str]:
    """File extension -> the one language or format that Pygments knows for it, as we show it."""
    seen: dict[str, set[str]] = {}
    for _, name, _, patterns, _ in world.lexers.values():
        for pattern in patterns:
            if pattern.startswith("*.") and pattern[2:].isalnum() and pattern.islower():
                seen.setdefault(pattern[2:], set()).add(SHOWN.get(name, name))
    return {ext: next(iter(names)) for ext, names in sorted(seen.items()) if len(names) == 1}


class Computing(Places):
    """Codes of computing: domains by country, extensions, statuses, ports, characters and scripts by code."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.files = software(world)

    # ---- what wordings say -------------------------------------------------------------------------------------------

    def status_slots(self, code: str) -> Slots:
        """Of an HTTP status."""
        return {"phrase": HTTP[int(code)]}

    def port_slots(self, port: str) -> Slots:
        """Of a port."""
        return {"service": PORTS[int(port)]}

    def character_slots(self, code: str) -> Slots:
        """Of a character."""
        return {"character": chr(int(code))}

    # ---- answers -----------------------------------------------------------------------------------------------------

    def domain(self, code: str, asked: Asked) -> Object:
        """A country's top-level domain."""
        country = self.world.countries[code]
        name = normalise_name(country.name).replace(" ", "")
        guesses = [t for t in (f".{name[:2]}", f".{name[0]}{name[-1]}", f".{name[0]}{name[2]}") if t != country.tld]
        like = [t for t in sorted(self.domains) if t[1:2] == country.tld[1:2] and t != country.tld]
        near = [self.world.countries[c].tld for c in near_countries(self.world, code, asked.salt)]
        return Object(
            kind="code",
            of="domain",
            answer=country.tld,
            wrong=[*order_by_hash(guesses, asked.salt)[:1], *order_by_hash(like, asked.salt)[:1], *near],
            also=[".gb"] if code == "GB" else (),
            truth={"code": country.tld, **country_truth(self.world, code)},
        )

    def language(self, extension: str, asked: Asked) -> Object:
        """The language or format of files with an extension."""
        name = self.files[extension]
        known = sorted({self.files[e] for e in FAMILIAR if e in self.files})
        return Object(
            kind="software",
            answer=name,
            wrong=[*pick(known, 3, asked.salt), *pick(sorted(set(self.files.values())), 3, asked.salt)],
            aliases=MORE_NAMES.get(name, ()),
            truth={"name": name},
        )

    def phrase(self, fact: str, asked: Asked) -> Object:
        """The phrase of an HTTP status."""
        code = int(fact)
        same = [HTTP[other] for other in self._same_class(code)]
        rest = [phrase for other, phrase in HTTP.items() if other // 100 != code // 100]
        return Object(
            kind="status",
            answer=HTTP[code],
            wrong=[*order_by_hash(same, asked.salt)[:2], *order_by_hash(rest, asked.salt)],
            aliases=HTTP_ALIASES.get(code, ()),
            truth={"value": code},
        )

    def _number(self, value: int, others: Iterable[int], asked: Asked) -> Object:
        wrong = [str(other) for other in order_by_hash(others, asked.salt)]
        return Object(kind="number", answer=str(value), wrong=wrong, truth={"value": value})

    def _same_class(self, code: int) -> list[int]:
        return [c for c in HTTP if c // 100 == code // 100 and c != code]

    def status(self, fact: str, asked: Asked) -> Object:
        """The code of an HTTP status."""
        return self._number(int(fact), self._same_class(int(fact)), asked)

    def port(self, fact: str, asked: Asked) -> Object:
        """A service's port."""
        port = int(fact)
        return self._number(port, sorted((p for p in PORTS if p != port), key=lambda p: abs(p - port))[:9], asked)

    def character_code(self, fact: str, asked: Asked) -> Object:
        """A character's number."""
        value = int(fact)
        near = [v for v in PRINTED if 0 < abs(v - value) <= 9]
        return self._number(value, [*near, *([value ^ 32] if chr(value).isalpha() else [])], asked)

    def service(self, fact: str, asked: Asked) -> Object:
        """The service of a port."""
        port = int(fact)
        return Object(
            kind="service",
            answer=PORTS[port],
            wrong=[PORTS[p] for p in pick(sorted(set(PORTS) - {port}), 5, asked.salt)],
            aliases=PORT_ALIASES.get(port, ()),
            truth={"value": port},
        )

    def _based(self, fact: str, asked: Asked, base: str, form: str, forms: Sequence[str]) -> Object:
        """A character's number in another base; `forms` are further ways to write it."""
        value = int(fact)
        near = [v for v in PRINTED if 0 < abs(v - value) <= 12]
        digits = f"{value:{form}}"
        return Object(
            kind="number",
            answer=digits,
            wrong=[f"{v:{form}}" for v in order_by_hash(near, asked.salt)],
            aliases=[way.format(digits) for way in forms],
            truth={"value": value, "base": base, "via": value},
        )

    def hexadecimal(self, fact: str, asked: Asked) -> Object:
        """A character's number in hexadecimal."""
        return self._based(fact, asked, "hexadecimal", "02X", ("0x{}", "{}h"))

    def binary(self, fact: str, asked: Asked) -> Object:
        """A character's number in binary."""
        return self._based(fact, asked, "binary", "07b", ("0{}", "0b{}"))

    def character(self, fact: str, asked: Asked) -> Object:
        """The character that has a number."""
        value = int(fact)
        others = [v for v in map(int, self.letters) if v != value]
        near = order_by_hash([v for v in others if abs(v - value) < 5], asked.salt)
        return Object(
            kind="character", answer=chr(value), wrong=[chr(v) for v in [*near, *others]], truth={"value": value}
        )

    def script(self, code: str, asked: Asked) -> Object:
        """The script that has a code."""
        name = self.scripts[code]
        like = sorted(v for k, v in self.scripts.items() if k[0] == code[0] and v != name)
        return Object(
            kind="script",
            answer=name,
            wrong=[*pick(like, 2, asked.salt), *pick(sorted(self.scripts.values()), 4, asked.salt)],
            aliases=[name, str(self.world.cldr.scripts.get(code, ""))],
            truth={"script": code},
        )

    def some_countries(self, salt: str) -> list[str]:
        """Four countries."""
        return [self.world.countries[c].the_name for c in pick(self.world.states[:120], 4, salt)]

    def some_phrases(self, salt: str) -> list[str]:
        """Four phrases of HTTP statuses that say that the client erred."""
        return [HTTP[c] for c in pick(sorted(c for c in HTTP if 400 <= c < 500), 4, salt)]

    def some_characters(self, salt: str) -> list[str]:
        """Four numbers of characters."""
        return [str(v) for v in pick(PRINTED, 4, salt)]

    # ---- facts -------------------------------------------------------------------------------------------------------

    @cached_property
    def domains(self) -> set[str]:
        """The domains of all countries."""
        return {c.tld for c in self.world.countries.values()}

    @cached_property
    def with_domain(self) -> list[str]:
        """The states that have a domain."""
        return [c for c in self.world.states if self.world.countries[c].tld]

    @cached_property
    def free_domains(self) -> list[str]:
        """Domains of two letters that nobody has."""
        letters = "abcdefghijklmnopqrstuvwxyz"
        pairs = [f".{a}{b}" for a in letters for b in letters]
        return order_by_hash([d for d in pairs if d not in self.domains | MORE_DOMAINS], "free domains")[:220]

    @cached_property
    def scripts(self) -> dict[str, str]:
        """Writing systems of one or two words by code."""
        rows = {s.alpha_4: s.name.split(" (")[0] for s in self.world.pycountry.scripts}
        named = {code: name for code, name in rows.items() if not code.startswith(("Z", "Q"))}
        return {k: v for k, v in named.items() if v.replace(" ", "").isalpha() and len(v.split()) < 3}

    @cached_property
    def own_ports(self) -> list[str]:
        """The ports of services that have one only."""
        users = Counter(PORTS.values())
        return [str(port) for port, service in PORTS.items() if users[service] == 1]

    @cached_property
    def letters(self) -> list[str]:
        """The numbers of digits and capital letters."""
        return [str(v) for v in range(48, 91) if chr(v).isalnum()]


def computing(world: World) -> list[Cell]:
    """The cells of the domain."""
    d = Computing(world)
    usual = [e for e in FAMILIAR if e in d.files]
    using = "The country that uses the internet top-level domain {} is {}."
    lands = [world.countries[c] for c in d.with_domain[:30]]
    pools = {
        "characters": [str(v) for v in PRINTED],
        "codes_by_character": [(chr(int(v)), v) for v in d.letters],
        "foreign": [str(ord(character)) for character in NOT_ASCII],
        "free_statuses": [str(c) for c in HTTP_FREE],
        "phrases_by_status": [(str(c), phrase) for c, phrase in HTTP.items()],
        "ports": [str(p) for p in PORTS],
        "script_codes": sorted(d.scripts),
        "script_shots": order_by_hash(d.scripts, 0)[:40],
        "solved_domains": [(using.format(land.tld, land.the_name), land.name) for land in lands],
        "statuses": [str(c) for c in HTTP],
        "unusual": [e for e in dict.fromkeys(LESSER) if e in d.files and e not in usual],
        "usual": usual,
    }
    return cells("computing", d, pools)
