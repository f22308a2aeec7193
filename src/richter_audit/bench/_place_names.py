"""Names, divisions and disputes of places, by hand: where the sources are wrong, or a matter is not settled."""

from richter_audit.bench._text_order import words

# Dependencies, and lands whose statehood is disputed: nothing is asked about them, but their names stay known.
NOT_ASKED = frozenset(
    words(
        "AI AN AQ AS AW AX BL BM BQ BV CC CK CS CW CX EH FK FO GF GG GI GL GP GS GU HK HM IM IO JE KY MF MO "
        "MP MQ MS NC NF NU PF PM PN PR PS RE SH SJ SX TC TF TK TW UM VG VI WF XK YT"
    )
)
# Divisions (country and GeoNames admin1 code) held or claimed by two sides: no city in them is asked about.
DISPUTED = frozenset(
    words(
        "UA.05 UA.08 UA.11 UA.14 UA.20 UA.26 IN.12 IN.30 IN.41 PK.06 PK.07 GE.00 GE.02 GE.73 IL. IL.00 IL.06 "
        "IL.WE MD.58 MD.62 CY. CY.01 CY.02 SO.12 SO.19 SO.20 SO.21 SO.22 SY.03 AZ.55 AZ.61 AZ.64 AZ.65"
    )
)
# No single undisputed capital (three, two, moving, or none by law): BO, GQ, ID, IL, LK, NR, SZ, YE, ZA.
NO_SINGLE_CAPITAL = frozenset(["BO", "GQ", "ID", "IL", "LK", "NR", "SZ", "YE", "ZA"])
COUNTRY_NAMES = {"NL": "Netherlands", "VA": "Vatican City", "CV": "Cape Verde", "TL": "East Timor"}
COUNTRY_ALIASES = {
    "US": ("USA", "U.S.", "US", "United States of America", "America"),
    "GB": ("UK", "U.K.", "Great Britain", "Britain", "United Kingdom of Great Britain and Northern Ireland"),
    "NL": ("Holland", "The Netherlands"), "CZ": ("Czech Republic",), "CI": ("Côte d'Ivoire", "Cote dIvoire"),
    "CD": ("DR Congo", "DRC", "Congo-Kinshasa", "Democratic Republic of Congo", "Zaire"),
    "CG": ("Congo-Brazzaville", "Congo Republic"), "MM": ("Burma",), "TR": ("Türkiye", "Turkiye"), "SZ": ("Swaziland",),
    "MK": ("Macedonia",), "TL": ("Timor-Leste", "Timor Leste"), "CV": ("Cabo Verde",), "VA": ("Vatican", "Holy See"),
    "KR": ("Republic of Korea", "Korea, South"), "KP": ("Democratic People's Republic of Korea", "DPRK"),
    "AE": ("UAE", "Emirates"), "CN": ("People's Republic of China", "PRC"), "RU": ("Russian Federation",),
    "BA": ("Bosnia", "Bosnia & Herzegovina"), "SY": ("Syrian Arab Republic",), "LA": ("Lao PDR",),
    "BN": ("Brunei Darussalam",), "BY": ("Byelorussia",), "FM": ("Federated States of Micronesia",),
    "KN": ("St. Kitts and Nevis", "St Kitts"), "LC": ("St. Lucia",),
    "VC": ("St. Vincent and the Grenadines", "St. Vincent"), "TT": ("Trinidad",),
    "ST": ("São Tomé and Príncipe", "São Tomé"), "PG": ("New Guinea",),
}  # fmt: skip
WITH_ARTICLE = frozenset(words("AE BS CD CF CG DO GB GM KM MH MV NL PH SB SC US"))
CAPITALS = {"KZ": "Astana", "US": "Washington, D.C.", "BR": "Brasília", "CO": "Bogotá", "PY": "Asunción"} | {
    "CM": "Yaoundé", "CR": "San José", "TG": "Lomé", "MV": "Malé", "ST": "São Tomé", "MM": "Naypyidaw",
    "MD": "Chișinău", "PW": "Ngerulmud",
}  # fmt: skip
CAPITAL_ALIASES = {
    "KZ": ("Nur-Sultan",), "US": ("Washington", "Washington DC", "District of Columbia"), "UA": ("Kiev",),
    "MM": ("Nay Pyi Taw",), "MD": ("Kishinev",), "PW": ("Melekeok",), "KI": ("South Tarawa",), "MN": ("Ulan Bator",),
    "CH": ("Berne",), "TM": ("Ashkhabad",), "IN": ("Delhi",), "KP": ("P'yongyang",), "AG": ("Saint John's",),
    "GD": ("Saint George's",), "RO": ("București",), "BE": ("Bruxelles",), "BI": ("Kitega",),
}  # fmt: skip
# Not a land border that two states both recognise as one: Guantánamo Bay is leased.
NOT_NEIGHBOURS = frozenset({("CU", "US"), ("US", "CU")})
# A border that GeoNames lacks: 150 metres on the Zambezi at Kazungula.
MORE_NEIGHBOURS = {"BW": ("ZM",), "ZM": ("BW",)}
CONTINENTS = {
    "AF": "Africa", "AS": "Asia", "EU": "Europe", "NA": "North America", "OC": "Oceania", "SA": "South America",
    "AN": "Antarctica",
}  # fmt: skip
REGION_NAMES = {
    ("DE", "Rheinland-Pfalz"): "Rhineland-Palatinate", ("DE", "Baden-Wurttemberg"): "Baden-Württemberg",
    ("DE", "State of Berlin"): "Berlin", ("DE", "City state Bremen"): "Bremen",
    ("DE", "Mecklenburg-Vorpommern"): "Mecklenburg-Western Pomerania", ("ES", "Castille and León"): "Castile and León",
    ("ES", "Castille-La Mancha"): "Castilla-La Mancha", ("FR", "Centre"): "Centre-Val de Loire",
    ("IT", "Basilicate"): "Basilicata", ("GR", "West Greece"): "Western Greece",
    ("GR", "West Macedonia"): "Western Macedonia", ("GR", "East Macedonia and Thrace"): "Eastern Macedonia and Thrace",
    ("PL", "Kujawsko-Pomorskie"): "Kuyavia-Pomerania", ("HR", "County of Osijek-Baranja"): "Osijek-Baranja",
    ("CL", "Region of Magallanes"): "Magallanes", ("RO", "Arges"): "Argeș", ("RO", "București"): "Bucharest",
}  # fmt: skip
REGION_ALIASES = {
    ("DE", "Rhineland-Palatinate"): ("Rheinland-Pfalz",),
    ("DE", "Mecklenburg-Western Pomerania"): ("Mecklenburg-Vorpommern",), ("DE", "Bavaria"): ("Bayern",),
    ("DE", "Hesse"): ("Hessen",), ("DE", "Saxony"): ("Sachsen",), ("DE", "Saxony-Anhalt"): ("Sachsen-Anhalt",),
    ("DE", "Lower Saxony"): ("Niedersachsen",), ("DE", "North Rhine-Westphalia"): ("Nordrhein-Westfalen", "NRW"),
    ("DE", "Thuringia"): ("Thüringen",), ("ES", "Castile and León"): ("Castilla y León", "Castille and León"),
    ("ES", "Castilla-La Mancha"): ("Castile-La Mancha", "Castille-La Mancha"), ("ES", "Andalusia"): ("Andalucía",),
    ("ES", "Catalonia"): ("Cataluña", "Catalunya"), ("ES", "Valencia"): ("Valencian Community", "Comunidad Valenciana"),
    ("ES", "Basque Country"): ("País Vasco", "Euskadi"), ("FR", "Centre-Val de Loire"): ("Centre",),
    ("FR", "Brittany"): ("Bretagne",), ("FR", "Normandy"): ("Normandie",),
    ("FR", "Provence-Alpes-Côte d'Azur"): ("PACA", "Provence"), ("IT", "Apulia"): ("Puglia",),
    ("IT", "Lombardy"): ("Lombardia",), ("IT", "Piedmont"): ("Piemonte",), ("IT", "Tuscany"): ("Toscana",),
    ("IT", "Sicily"): ("Sicilia",), ("IT", "Sardinia"): ("Sardegna",), ("IT", "Basilicata"): ("Lucania",),
    ("AT", "Carinthia"): ("Kärnten",), ("AT", "Styria"): ("Steiermark",),
    ("AT", "Lower Austria"): ("Niederösterreich",), ("AT", "Upper Austria"): ("Oberösterreich",),
    ("AT", "Tyrol"): ("Tirol",), ("PL", "Kuyavia-Pomerania"): ("Kujawsko-Pomorskie", "Kuyavian-Pomeranian"),
    ("PL", "Mazovia"): ("Masovian", "Mazowieckie", "Masovia"), ("PL", "Silesia"): ("Silesian", "Śląskie"),
    ("PL", "Lower Silesia"): ("Lower Silesian", "Dolnośląskie"),
    ("PL", "Greater Poland"): ("Wielkopolskie", "Wielkopolska"), ("PL", "Lesser Poland"): ("Małopolskie", "Małopolska"),
    ("PL", "Subcarpathia"): ("Subcarpathian", "Podkarpackie"), ("PL", "Podlasie"): ("Podlaskie",),
    ("PL", "Pomerania"): ("Pomeranian", "Pomorskie"),
    ("PL", "West Pomerania"): ("West Pomeranian", "Zachodniopomorskie"),
    ("PL", "Warmia-Masuria"): ("Warmian-Masurian", "Warmińsko-Mazurskie"), ("PL", "Łódź"): ("Łódzkie",),
    ("NL", "North Holland"): ("Noord-Holland",), ("NL", "South Holland"): ("Zuid-Holland",),
    ("NL", "North Brabant"): ("Noord-Brabant",), ("CH", "Grisons"): ("Graubünden",), ("CH", "Lucerne"): ("Luzern",),
    ("CH", "Geneva"): ("Genève",), ("SE", "Skåne"): ("Scania",), ("SE", "Västra Götaland"): ("West Götaland",),
    ("MY", "Melaka"): ("Malacca",), ("MY", "Penang"): ("Pulau Pinang",),
    ("PH", "Metro Manila"): ("National Capital Region", "NCR"),
    ("PH", "Autonomous Region in Muslim Mindanao"): ("Bangsamoro", "BARMM", "ARMM"),
    ("PH", "Cordillera"): ("Cordillera Administrative Region", "CAR"), ("CN", "Tibet"): ("Xizang",),
    ("CN", "Inner Mongolia"): ("Nei Mongol",), ("EG", "Beheira"): ("El Beheira",),
    ("MX", "México"): ("State of Mexico", "Estado de México"),
}  # fmt: skip
# Countries with settled first-level divisions and usable English names; the term for one such division.
DIVISIONS = {
    **dict.fromkeys(words("AR CR CU DO EC IR KH LK MZ NL TH TR ZA ZM ZW BG ID"), "province"),
    **dict.fromkeys(["US", "MX", "BR", "VE", "DE", "AT", "NG"], "state"), "CA": "province or territory",
    "PK": "province or territory", "CN": "province or autonomous region", "IN": "state or union territory",
    "AU": "state or territory", "MY": "state or federal territory",
    **dict.fromkeys(words("CL FR IT GR FI NZ PH PE MA NA SN SA TZ GH"), "region"),
    **dict.fromkeys(["CO", "UY", "PY", "BO", "GT", "HN", "SV"], "department"),
    **dict.fromkeys(["SE", "HU", "RO", "HR", "KE"], "county"), **dict.fromkeys(["EG", "TN"], "governorate"),
    "ES": "autonomous community", "CH": "canton", "PL": "voivodeship", "JP": "prefecture", "PT": "district",
}  # fmt: skip
# Not of the kind that its country's term names: federal districts, capitals and islands of their own standing.
ODD_DIVISIONS = frozenset(
    {
        *(("CN", name) for name in ("Beijing", "Shanghai", "Tianjin", "Chongqing")),
        *(("US", "District of Columbia"), ("BR", "Federal District"), ("MX", "Mexico City"), ("TH", "Bangkok")),
        *(
            ("PT", "Azores"),
            ("PT", "Madeira"),
            ("AR", "Buenos Aires F.D."),
            ("CO", "Bogota D.C."),
            ("GR", "Mount Athos"),
        ),
        *(("RO", "Bucharest"), ("HU", "Budapest"), ("ES", "Ceuta"), ("ES", "Melilla"), ("VE", "Distrito Federal")),
        *(("VE", "Dependencias Federales"), ("PY", "Asunción"), ("CU", "Isla de la Juventud"), ("KH", "Phnom Penh")),
        *(("MA", "Laâyoune-Sakia El Hamra"), ("MA", "Dakhla-Oued Ed-Dahab"), ("MZ", "Maputo City"), ("PE", "Callao")),
        *(("NG", "FCT"), ("NG", "Federal Capital Territory"), ("PH", "Metro Manila"), ("CL", "Santiago Metropolitan")),
    }
)
GENERIC_DIVISIONS = words(
    "Province State Region County Department Governorate Oblast Krai Republic Voivodeship Division Canton Prefecture"
)
