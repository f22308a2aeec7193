"""Computing codes: top-level domains, file extensions, HTTP statuses, ports, ASCII, script codes; codes never given."""

from collections.abc import Callable
from functools import partial

from richter_audit.bench._draft import NO_SUCH, Asked, Cell, Draft, ask, relation, solve
from richter_audit.bench._places import capital_draft, country_draft, country_truth, field_of, near_countries
from richter_audit.bench._text import normalise_name, ordered, pick, words
from richter_audit.bench._world import World

GEO = "IANA root zone via GeoNames (CC BY 4.0)"
PYGMENTS = "Pygments (BSD-2-Clause)"
IANA = "IANA registries (public domain)"
ASCII = "ASCII (ANSI X3.4)"
ISO = "ISO 15924 via pycountry (LGPL-2.1)"

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


def software(world: World) -> dict[str, str]:
    """File extension -> the one language or format that Pygments knows for it, as we show it."""
    seen: dict[str, set[str]] = {}
    for _, name, _, patterns, _ in world.lexers.values():
        for pattern in patterns:
            if pattern.startswith("*.") and pattern[2:].isalnum() and pattern.islower():
                seen.setdefault(pattern[2:], set()).add(SHOWN.get(name, name))
    return {ext: next(iter(names)) for ext, names in sorted(seen.items()) if len(names) == 1}


def computing(world: World) -> list[Cell]:
    """The cells of the domain."""
    files = software(world)
    made_names = sorted(set(files.values()))
    known_names = sorted({files[e] for e in FAMILIAR if e in files})

    def tld_draft(code: str, asked: Asked) -> Draft:
        country, salt = world.countries[code], asked.prompt
        name = normalise_name(country.name).replace(" ", "")
        real = {c.tld for c in world.countries.values()}
        made = [t for t in (f".{name[:2]}", f".{name[0]}{name[-1]}", f".{name[0]}{name[2]}") if t != country.tld]
        near = [world.countries[c].tld for c in near_countries(world, code, salt)]
        like = [t for t in sorted(real) if t[1:2] == country.tld[1:2] and t != country.tld]
        wrong = [*ordered(made, salt)[:1], *ordered(like, salt)[:1], *near]
        truth = {"code": country.tld, **country_truth(world, code)}
        return asked.draft(country.tld, wrong, "code", also=[".gb"] if code == "GB" else (), code_of="domain", **truth)

    def of_extension(fact: str) -> Draft:
        name = files[fact]
        prompt = f"Which programming language or file format uses the file extension .{fact}?"
        return Asked(prompt, f".{fact}", f"Files with the extension .{fact} are written in").draft(
            name,
            [*pick(known_names, 3, fact), *pick(made_names, 3, fact)],
            "software",
            aliases=MORE_NAMES.get(name, ()),
            also=[n for e, n in files.items() if e == fact],
            name=name,
        )

    def of_status(fact: str) -> Draft:
        code = int(fact)
        same = [phrase for other, phrase in HTTP.items() if other // 100 == code // 100 and other != code]
        rest = [phrase for other, phrase in HTTP.items() if other // 100 != code // 100]
        wrong = [*ordered(same, fact)[:2], *ordered(rest, fact)]
        asked = Asked(f"What is the standard phrase for the HTTP status code {code}?", fact)
        return asked.draft(HTTP[code], wrong, "status", aliases=HTTP_ALIASES.get(code, ()), value=code)

    def number_draft(others: Callable[[int], list[int]], fact: str, asked: Asked) -> Draft:
        wrong = [str(o) for o in ordered(others(int(fact)), asked.prompt)]
        return asked.draft(fact, wrong, "number", value=int(fact))

    def same_class(code: int) -> list[int]:
        return [c for c in HTTP if c // 100 == code // 100 and c != code]

    def near_ports(port: int) -> list[int]:
        return sorted((p for p in PORTS if p != port), key=lambda p: abs(p - port))[:9]

    def near_characters(value: int) -> list[int]:
        near = [v for v in range(33, 127) if 0 < abs(v - value) <= 9]
        return [*near, *([value ^ 32] if chr(value).isalpha() else [])]

    def of_port(fact: str) -> Draft:
        port = int(fact)
        wrong = [PORTS[p] for p in pick(sorted(set(PORTS) - {port}), 5, fact)]
        asked = Asked(f"Which service has the standard port number {port}?", fact)
        return asked.draft(PORTS[port], wrong, "service", aliases=PORT_ALIASES.get(port, ()), value=port)

    def based(fact: str, base: str) -> Draft:
        value, form, character = int(fact), "02X" if base == "hexadecimal" else "07b", f"“{chr(int(fact))}”"
        written = f"{value:{form}}"
        near = [v for v in range(33, 127) if 0 < abs(v - value) <= 12]
        stem = f"In {base}, the ASCII code of the character {character} is"
        return Asked(f"Write the ASCII code of the character {character} in {base}.", chr(value), stem).draft(
            written,
            [f"{v:{form}}" for v in ordered(near, base, fact)],
            "number",
            aliases=[f"0x{written}", f"{written}h"] if base == "hexadecimal" else [f"0{written}", f"0b{written}"],
            value=value,
            base=base,
            via=value,
        )

    def next_character(fact: str) -> Draft:
        value = int(fact)
        near = [v for v in range(48, 91) if chr(v).isalnum() and v != value]
        wrong = [chr(v) for v in [*ordered([v for v in near if abs(v - value) < 5], fact), *near]]
        asked = Asked(f"Which character has the decimal ASCII code {value}?", fact)
        return asked.draft(chr(value), wrong, "character", value=value)

    scripts = {
        s.alpha_4: s.name.split(" (")[0] for s in world.pycountry.scripts if not s.alpha_4.startswith(("Z", "Q"))
    }
    plain_scripts = {k: v for k, v in scripts.items() if v.replace(" ", "").isalpha() and len(v.split()) < 3}

    def of_script(fact: str) -> Draft:
        name = plain_scripts[fact]
        like = sorted(v for k, v in plain_scripts.items() if k[0] == fact[0] and v != name)
        wrong = [*pick(like, 2, fact), *pick(sorted(plain_scripts.values()), 4, fact)]
        aliases = [scripts[fact], str(world.cldr.scripts.get(fact, ""))]
        asked = Asked(f"Which writing system has the ISO 15924 code {fact}?", fact)
        return asked.draft(name, wrong, "script", aliases=aliases, script=fact)

    def no_tld(fact: str) -> Draft:
        stem = f"The country that uses the internet top-level domain {fact} is"
        return Asked(f"Which country uses the internet top-level domain {fact}?", fact, stem).trap(
            f"none, because {fact} is not assigned",
            [world.countries[c].the_name for c in pick(world.states[:120], 4, fact)],
            f"{fact} is a country's top-level domain",
            aliases=[*NO_SUCH, "no country", "not a top-level domain", "not a country code"],
        )

    def no_status(fact: str) -> Draft:
        return Asked(f"What is the standard phrase of the HTTP status code {fact}?", fact).trap(
            f"none, because {fact} is not assigned",
            [HTTP[c] for c in pick(sorted(c for c in HTTP if 400 <= c < 500), 4, fact)],
            f"{fact} is a standard HTTP status code",
            aliases=[*NO_SUCH, "no standard", "not standard", "non-standard"],
        )

    def no_ascii(fact: str) -> Draft:
        character = chr(int(fact))
        denials = ("not in ASCII", "not part of ASCII", "not an ASCII", "no ASCII", "Unicode", "outside")
        return Asked(f"What is the ASCII code of the character “{character}”?", character).trap(
            f"none, because “{character}” is not in ASCII",
            [str(v) for v in pick(range(33, 127), 4, fact)],
            f"“{character}” is an ASCII character",
            aliases=[*NO_SUCH, *denials],
        )

    tlds = [c for c in world.states if world.countries[c].tld]
    usual = [e for e in FAMILIAR if e in files]
    unusual = [e for e in dict.fromkeys(LESSER) if e in files and e not in usual]
    codes = [str(c) for c in HTTP]
    ports = [str(p) for p in PORTS]
    unique_ports = [p for p in ports if list(PORTS.values()).count(PORTS[int(p)]) == 1]
    characters = [str(v) for v in range(33, 127) if chr(v) not in "“”"]
    upper = [str(v) for v in range(48, 91) if chr(v).isalnum()]
    real = {c.tld for c in world.countries.values()} | set(words(".eu .su .uk .ac .gb .tp .yu .dd .zr .oc"))
    letters = "abcdefghijklmnopqrstuvwxyz"
    free = ordered([f".{a}{b}" for a in letters for b in letters if f".{a}{b}" not in real], "free domains")[:220]
    foreign = [str(ord(ch)) for ch in "éèüöäßñçåøæœ€£¥§©®±µ¶·¿¡«»×÷°²³¼½¾ÀÉÜÑÇØÅÞðþłşğžščřůőąęłńśźżαβγδπΩЖдя"]
    foreign = list(dict.fromkeys(foreign))

    the, name, tld_of = (field_of(world, f) for f in ("the_name", "name", "tld"))
    geo, iana, ascii_ = (partial(relation, source=source) for source in (GEO, IANA, ASCII))
    chain = partial(relation, source=GEO, form="compositional")
    top = tlds[:30]
    write = ask(
        lambda code, asked: country_draft(world, code, asked, salt="tld"),
        "Which country has the internet top-level domain {}?",
        tld_of,
        stem="{} is the internet top-level domain of",
    )
    country = geo("tld-country", write=write, shots=top)
    write = ask(tld_draft, "Give the internet top-level domain of {}.", the, name)
    tld = geo("country-tld", write=write, shots=top)
    write = ask(
        tld_draft, "Give the internet top-level domain of the country whose capital is {}.", field_of(world, "capital")
    )
    capital_tld = chain("capital-tld", write=write, shots=top)
    write = ask(
        lambda code, asked: capital_draft(world, code, asked, salt="tld"),
        "What is the capital of the country with the internet top-level domain {}?",
        lambda code: tld_of(code) if world.countries[code].capital else "",
    )
    tld_capital = chain("tld-capital", write=write, shots=top)
    file = relation("extension-language", PYGMENTS, of_extension, usual[:24])
    phrase = iana("http-phrase", write=of_status, shots=codes)
    write = ask(partial(number_draft, same_class), "Give the HTTP status code for “{}”.", lambda c: HTTP[int(c)])
    status = iana("phrase-http", write=write, shots=codes)
    service = iana("port-service", write=of_port, shots=ports[:24])
    write = ask(partial(number_draft, near_ports), "What is the standard port number of {}?", lambda p: PORTS[int(p)])
    port = iana("service-port", write=write, shots=unique_ports[:24])
    write = ask(
        partial(number_draft, near_characters),
        "What is the decimal ASCII code of the character “{}”?",
        lambda value: chr(int(value)),
    )
    code = ascii_("ascii-code", write=write, shots=upper)
    char = ascii_("code-ascii", write=next_character, shots=upper)
    system = relation("script-code", ISO, of_script, ordered(sorted(plain_scripts), 0)[:40])
    in_hex = ascii_("ascii-hex", write=partial(based, base="hexadecimal"), shots=upper, form="compositional")
    in_bits = ascii_("ascii-binary", write=partial(based, base="binary"), shots=upper, form="compositional")
    uses = [
        (f"The country that uses the internet top-level domain {land.tld} is {land.the_name}.", land.name)
        for land in (world.countries[c] for c in top)
    ]
    of_the = [(text.replace("phrase for the", "phrase of the"), a) for text, a in solve(of_status, codes)]
    bare = [(f"The ASCII code of the character “{chr(int(v))}” is {v}.", v) for v in upper]
    no_domain = geo("tld-unassigned", write=no_tld, shots=uses, form="trap")
    no_phrase = iana("http-unassigned", write=no_status, shots=of_the, form="trap")
    no_char = ascii_("not-ascii", write=no_ascii, shots=bare, form="trap")
    return [
        country(tier=1, facts=tlds[:140], weight=2),
        file(tier=1, facts=usual, weight=1),
        phrase(tier=1, facts=codes, weight=1),
        service(tier=1, facts=ports[:44], weight=1),
        country(tier=2, facts=tlds[140:], weight=1),
        tld(tier=2, facts=tlds[:128], weight=2),
        status(tier=2, facts=codes, weight=1),
        service(tier=2, facts=ports[44:], weight=1),
        port(tier=3, facts=unique_ports, weight=1),
        file(tier=3, facts=unusual, weight=2),
        tld(tier=3, facts=tlds[128:], weight=1),
        char(tier=3, facts=upper, weight=1),
        code(tier=4, facts=characters, weight=1),
        capital_tld(tier=4, facts=tlds, weight=2),
        in_hex(tier=4, facts=characters, weight=1),
        no_domain(tier=4, facts=free[:110], weight=1),
        no_phrase(tier=4, facts=[str(c) for c in HTTP_FREE], weight=1),
        system(tier=5, facts=sorted(plain_scripts), weight=2),
        tld_capital(tier=5, facts=tlds, weight=2),
        in_bits(tier=5, facts=characters, weight=1),
        no_domain(tier=5, facts=free[110:], weight=1),
        no_char(tier=5, facts=foreign, weight=1),
    ]
