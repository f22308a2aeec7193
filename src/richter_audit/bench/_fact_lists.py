"""What the sources of the facts benchmark lack or leave open, by hand: spellings, registries, unsettled matters."""

from richter_audit.bench._text_order import words

# ---- countries ----
# Reach into two continents, or are counted with either.
TWO_CONTINENTS = frozenset(["AM", "AZ", "CY", "EG", "GE", "ID", "KZ", "RU", "TL", "TR"])
# Lands and islets overseas blur whom they border.
UNCLEAR_BORDERS = {"US", "CU", "DK", "CA", "GB", "FR", "NL"}

# ---- money ----
# Bulgaria changed to the euro in 2026, after the sources' date; Panama and Zimbabwe use two currencies side by side.
UNSETTLED = frozenset({"BG", "PA", "ZW"})
UNITS = {"BAM": "convertible mark", "ILS": "shekel", "XAF": "CFA franc", "XOF": "CFA franc", "GBP": "pound"}
UNIT_ALIASES = {
    "BAM": ("mark", "marka"), "ILS": ("new shekel", "sheqel"), "XAF": ("franc",), "XOF": ("franc",),
    "GBP": ("pound sterling", "sterling"), "CNY": ("renminbi", "RMB"), "PLN": ("złoty",), "KGS": ("Kyrgyzstani som",),
    "GYD": ("Guyanese dollar",), "BWP": ("Botswana pula",), "MNT": ("tögrög", "togrog"), "UAH": ("hryvnya",),
    "RUB": ("rouble",), "BYN": ("rouble",), "DEM": ("German mark", "D-Mark"), "SUR": ("Soviet rouble",),
}  # fmt: skip
# One word in several languages: none of them is offered as a wrong answer for another.
KIN = ({"krone", "krona", "koruna", "kroon"}, {"rial", "riyal", "riel"}, {"pound", "lira"}, {"leu", "lev"})
FULL_NAMES = {
    "GYD": "Guyanese dollar", "ILS": "Israeli new shekel", "BAM": "Bosnia and Herzegovina convertible mark",
    "KGS": "Kyrgyzstani som", "BWP": "Botswana pula", "CSK": "Czechoslovak koruna", "SUR": "Soviet ruble",
    "EUR": "euro", "DEM": "Deutsche Mark", "MMK": "Myanmar kyat",
}  # fmt: skip
# Withdrawn codes of money that had a name of its own; revaluations under the same name are left out.
FORMER = words(
    "ADP ARA ATS BEF BOP BRC BUK CLE CSK CYP DDM DEM ECS EEK ESP FIM FRF GNS GRD GWP HRD HRK IEP ILP ITL "
    "KRH LTL LUF LVL LVR MAF MCF MDC MGF MLF MTL MZE NLG PEI PTE RHD SIT SKK SRG SUR TJR TPE UAK YDD ZRZ"
)
# The euro is their money (by treaty or by their own decision), or they share a currency pegged to it by name.
EURO_BY_OTHER_MEANS = frozenset(["AD", "MC", "SM", "VA", "ME", "XK"])
LATE_EURO = {"GR": 2001, "SI": 2007, "CY": 2008, "MT": 2008, "SK": 2009, "EE": 2011, "LV": 2014, "LT": 2015, "HR": 2023}

# ---- elements ----
SPELLINGS = {"aluminum": ("aluminium",), "cesium": ("caesium",), "sulfur": ("sulphur",)}
COMMON = words(
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Ti Cr Mn Fe Co Ni Cu Zn As Br Kr Ag Sn I Xe Ba W "
    "Pt Au Hg Pb Ra U Pu Rn Cd Bi Cs Sr Se"
)
# Families that every textbook draws alike; zinc's column, lanthanum, lutetium and their like are left out.
FAMILIES = {
    "alkali metal": "Li Na K Rb Cs Fr",
    "alkaline earth metal": "Be Mg Ca Sr Ba Ra",
    "halogen": "F Cl Br I",
    "noble gas": "He Ne Ar Kr Xe Rn",
    "lanthanide": "Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb",
    "actinide": "Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No",
    "metalloid": "B Si Ge As Sb Te",
    "transition metal": ("Sc Ti V Cr Mn Fe Co Ni Cu Y Zr Nb Mo Tc Ru Rh Pd Ag Hf Ta W Re Os Ir Pt Au Rf Db Sg Bh Hs"),
}
FAMILY_ALIASES = {"lanthanide": ("lanthanoid", "rare earth"), "actinide": ("actinoid",), "metalloid": ("semimetal",)}
UNSETTLED_COLUMN = frozenset({"La", "Lu", "Ac", "Lr"})
# Years on which textbooks agree (first isolated or first made); those they date apart are left out.
FOUND = {
    "O": 1774, "Cl": 1774, "Mn": 1774, "U": 1789, "Zr": 1789, "Ti": 1791, "Cr": 1797, "Nb": 1801, "Ta": 1802,
    "Ce": 1803, "Se": 1817, "Tl": 1861, "Ho": 1878, "Sm": 1879, "Tm": 1879, "Gd": 1880, "Pr": 1885, "Nd": 1885,
    "Dy": 1886, "Am": 1944, "Pm": 1945, "Es": 1952, "Ni": 1751, "W": 1783, "H": 1766, "N": 1772, "Na": 1807, "K": 1807,
    "Ba": 1808, "I": 1811, "Br": 1826, "Rb": 1861, "Cs": 1860, "In": 1863, "Ga": 1875, "Sc": 1879, "Ge": 1886,
    "Ar": 1894, "Kr": 1898, "Ne": 1898, "Xe": 1898, "Po": 1898, "Ra": 1898, "Hf": 1923, "Re": 1925, "Tc": 1937,
    "Fr": 1939, "At": 1940, "Np": 1940, "Eu": 1901, "Ru": 1844, "Cd": 1817, "Li": 1817, "P": 1669, "Cm": 1944,
    "Bk": 1949, "Cf": 1950, "Md": 1955,
}  # fmt: skip
# No stable isotope; bismuth and what decays beyond measuring are left out.
NEVER_STABLE = words(
    "Tc Pm Po At Rn Fr Ra Ac Pa Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
)
# symbols once proposed or used
ONCE_SYMBOLS = frozenset(words("Cb Ma Ab Em Ad Ha Ao Me Ka Az Bo Jo De Vm Ph Nt Tu Gl Dp Cp Ct Nv"))
ENGLISH = frozenset(words("am an as at be by do go he hi if in is it me my no of oh ok on or ox so to up us we"))

# ---- languages ----
NAMES = {"bn": "Bengali", "ny": "Chichewa", "mi": "Maori", "gez": "Geez", "lah": "Western Punjabi", "rn": "Kirundi"}
NAME_ALIASES = {
    "fa": ("Farsi",), "zh": ("Mandarin", "Mandarin Chinese"), "es": ("Castilian",), "nl": ("Flemish",),
    "bn": ("Bangla",), "dv": ("Maldivian", "Dhivehi"), "fil": ("Tagalog",), "lg": ("Luganda",), "ki": ("Gikuyu",),
    "rn": ("Rundi",), "kl": ("Greenlandic",), "my": ("Myanmar",), "km": ("Cambodian",), "si": ("Sinhalese",),
    "hr": ("Serbo-Croatian",), "ro": ("Moldovan",), "tn": ("Setswana",), "st": ("Sesotho",), "ss": ("Swazi",),
    "ga": ("Gaelic", "Irish Gaelic"), "he": ("Modern Hebrew",), "kok": ("Goan Konkani",),
}  # fmt: skip
# One official language by CLDR, but not so by law or any longer: two in law, none in law, or changed since.
NOT_ONE_OFFICIAL = frozenset(words("BF CN ET FM GB GH IQ ME ML NA NE NZ PS SB SS US ZA BA XK MY LA"))
# Spoken as much, or claimed as much, elsewhere; dead; or not a language in its own right to all.
NO_CLEAR_HOME = frozenset(
    words(
        "ab aln bo cop crh dyu fan frs guc ie kde kfo kg kiu kj ks la lad lez lun lah mwr nb nn no nqo pdt "
        "prg rue sa sli sma smj swb syr tly tru ttt ug vmf yao zh wuu hsn hak gan uz he tt gbz sdh bas raj "
        "ta am om so"
    )
)
# CLDR names a script for these that another has replaced or accompanies.
NO_CLEAR_SCRIPT = frozenset(
    words(
        "ady akk bax bej blt bfq crh crk crm csw gan hnj hsn ja jpr jrb ko lad lus lzh mnc non ojs saz tig "
        "trw wal wuu zen kru rue yi"
    )
)
SCRIPT_NAMES = {"Beng": "Bengali", "Cans": "Canadian syllabics", "Xsux": "cuneiform", "Mymr": "Burmese"}
SCRIPT_ALIASES = {
    "Ethi": ("Ge'ez", "Geez", "Amharic"), "Beng": ("Bangla", "Bengali-Assamese", "Eastern Nagari"), "Latn": ("Roman",),
    "Arab": ("Perso-Arabic", "Nastaliq"), "Deva": ("Nagari",), "Mymr": ("Myanmar", "Mon-Burmese"),
    "Cyrl": ("Cyrillic alphabet",), "Orya": ("Oriya",),
}  # fmt: skip
SCRIPTS = words("Latn Cyrl Arab Deva Grek Hebr Ethi Beng Thai Geor Armn Taml Khmr")
# Codes of two letters that are withdrawn, or are words and names that a reader takes for something else.
WITHDRAWN_CODES = frozenset(words("iw in ji jw mo sh bh eu"))
CODES_THAT_ARE_WORDS = frozenset(words("ad ax do ex go ha hi if me oh ok ow ox pi re us we up ye yo by at"))

# ---- computing ----
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
NOT_ASCII = dict.fromkeys("éèüöäßñçåøæœ€£¥§©®±µ¶·¿¡«»×÷°²³¼½¾ÀÉÜÑÇØÅÞðþłşğžščřůőąęłńśźżαβγδπΩЖдя")
# Top-level domains that no country of GeoNames has, and that are or were in use.
MORE_DOMAINS = frozenset(words(".eu .su .uk .ac .gb .tp .yu .dd .zr .oc"))

# ---- regions ----
# Names that many countries use: points of the compass, "Centre", "Capital".
VAGUE = set(words("central centre east eastern west western north northern south southern capital"))
FEDERAL = ("US", "CA", "AU", "DE", "IN", "BR", "CN")  # whose divisions are widely known
