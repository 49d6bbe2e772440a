"""Numbers of Peleg and Meir 2005: test error in per cent and features, each with its spread.

In tables 3 and 4 the methods are in the order SVM, 1-norm SVM, RFE, GMEB.
"""

CHOICES = ("type 1", "type 2", "real")  # what each method chooses a point for
TYPE_ONE = {  # training samples; table 3
    10: ((46.2, 1.9, 197.1, 2.1), (49.6, 1.9, 77.7, 83.8), (46.1, 8.6, 38.0, 40.7), (33.8, 14.2, 3.7, 2.1)),
    20: ((44.9, 2.1, 196.8, 1.9), (38.5, 12.7, 10.7, 6.1), (30.3, 16.4, 13.3, 34.7), (13.9, 7.2, 4.8, 2.7)),
    30: ((43.6, 1.7, 196.7, 2.8), (27.4, 12.4, 14.5, 8.7), (22.9, 12.3, 9.9, 29.1), (7.1, 5.6, 5.1, 2.3)),
    40: ((41.8, 1.9, 197.2, 1.8), (19.2, 6.9, 16.2, 11.1), (19.4, 8.5, 6.6, 30.7), (5.0, 3.5, 5.5, 2.1)),
    50: ((41.9, 1.8, 196.6, 2.6), (16.0, 5.3, 18.4, 11.3), (16.9, 5.6, 1.0, 0.0), (3.1, 2.7, 5.1, 1.8)),
}
TYPE_TWO = ((30.1, 1.7, 922.9, 11.6), (10.8, 2.3, 6.6, 9.8), (17.8, 1.8, 1.0, 0.0), (11.3, 2.3, 2.8, 1.3))
REAL = {  # table 4
    "WDBC": ((5.3, 0.8, 27.3, 0.3), (4.9, 1.1, 16.4, 1.3), (6.5, 0.9, 17.6, 2.3), (4.2, 0.9, 6.0, 0.3)),
    "Digits": ((0.3, None, 616, None), (3.5, None, 15, None), (5.3, None, 30, None), (0.2, None, 32, None)),
    "Internet ads": ((5.3, None, 322, None), (4.7, None, 12, None), (5.5, None, 46, None), (5.5, None, 98, None)),
    "Colon": ((13.6, 5.9, 1941.8, 1.9), (10.7, 4.4, 23.3, 1.5), (15.2, 5.7, 500.7, 89.6), (10.7, 4.4, 59.1, 25.0)),
    "BUPA": ((33.1, 3.5, 6.0, 0.0), (33.6, 3.6, 5.9, 0.1), (34.2, 3.4, 5.9, 0.1), (34.2, 4.4, 5.4, 0.5)),
    "Pima": ((22.8, 1.5, 5.8, 0.2), (22.9, 1.4, 5.8, 0.2), (23.2, 1.6, 6.7, 0.3), (22.5, 1.8, 4.8, 0.2)),
    "Cleveland": ((17.5, 1.9, 11.6, 0.2), (16.8, 1.6, 10.7, 0.3), (16.8, 2.1, 8.8, 0.6), (15.5, 2.0, 9.1, 0.3)),
    "Ionosphere": ((11.7, 2.6, 32.8, 0.2), (12.0, 2.3, 27.9, 1.6), (14.0, 2.9, 18.8, 2.4), (10.0, 2.3, 12.1, 1.7)),
}
NUMBERS = {name: number for number, name in enumerate(REAL, start=1)}  # table 2
SHAPES = {  # samples and features; table 2
    "WDBC": ("569", 30),
    "Digits": ("200/1800", 649),
    "Internet ads": ("200/3080", 1558),
    "Colon": ("62", 2000),
    "BUPA": ("345", 6),
    "Pima": ("768", 8),
    "Cleveland": ("297", 13),
    "Ionosphere": ("351", 34),
}
FIGURE_ONE = {"I": 2, "II": 10, "III": 20}  # relevant features of 100
LOWEST = sum(numbers[3][0] <= min(cell[0] for cell in numbers) for numbers in REAL.values())


def differences(numbers):
    """Return GMEB's error less that of each other method."""
    return [f"{numbers[3][0] - other[0]:+.1f}" for other in numbers[:3]]
