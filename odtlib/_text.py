"""How numbers are written, in trees, columns and pictures."""


def threshold_text(threshold, low, high):
    """Write a threshold with as many digits as separate its two neighbours well."""
    for digits in range(4, 18):
        text = f"{threshold:.{digits}g}"
        error = abs(float(text) - threshold)
        if low <= float(text) < high and (error <= 0.05 * high - 0.05 * low or error == 0):
            break
    return text
