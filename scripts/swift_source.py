"""What the checks in this folder read of Swift files."""
import re


def code(text, strings=True):
    """The text with comments taken out, and without `strings` these, too; the ends of lines stay."""
    out, i = [], 0
    while i < len(text):
        if match := re.compile(r'(#*)("""|")').match(text, i):
            hashes, quote = match.groups()
            end, j = quote + hashes, match.end()
            while j < len(text) and not text.startswith(end, j):
                if quote == '"' and text[j] == "\n":
                    break
                j += 2 if text[j] == "\\" and not hashes else 1
            j = min(len(text), j + len(end))
            out.append(text[i:j] if strings else "\n" * text.count("\n", i, j))
            i = j
        elif text.startswith("//", i):
            i = text.find("\n", i) if "\n" in text[i:] else len(text)
        elif text.startswith("/*", i):
            depth, j = 1, i + 2
            while j < len(text) and depth:
                if text.startswith("/*", j):
                    depth, j = depth + 1, j + 2
                elif text.startswith("*/", j):
                    depth, j = depth - 1, j + 2
                else:
                    j += 1
            out.append("\n" * text.count("\n", i, j))
            i = j
        else:
            out.append(text[i])
            i += 1
    return "".join(out)
