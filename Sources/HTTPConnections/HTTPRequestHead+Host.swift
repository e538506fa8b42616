import NIOHTTP1

/// Which host a request is for (RFC 9112, 3.2).
///
/// | target | the host |
/// | --- | --- |
/// | `/path?query` | the one in `Host` |
/// | `http://name:80/path?query` | `name:80`, whatever `Host` says |
///
/// `Host` is there once, with HTTP/1.0 perhaps not at all. Handlers behind that of the connection find the host in
/// `Host`, and a path in the target, in which no letter, digit or `-._~` is percent-encoded: `/%73ync` is `/sync` (RFC
/// 3986, 6.2.2.2).
extension HTTPRequestHead {
    /// Writes host and target in the one form that what follows reads.
    mutating func normalizeTarget() {
        replaceAbsoluteTarget()
        guard uri.utf8.contains(UInt8(ascii: "%")) else { return }
        var target: [UInt8] = []
        var rest = uri.utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            guard byte == UInt8(ascii: "%"), digits.count == 2, digits.allSatisfy(Self.isHexadecimal),
                let code = UInt8(Substring(digits), radix: 16)
            else {
                target.append(byte)
                continue
            }
            if Self.isLetter(code) || Self.isDigit(code) || "-._~".utf8.contains(code) {
                target.append(code)
            } else {
                target += [byte] + digits
            }
            rest.removeFirst(2)
        }
        uri = String(decoding: target, as: UTF8.self)
    }

    /// Replaces a target that names a host: the name goes to `Host`, and the rest is the target.
    ///
    /// Without effect where ``hostProblem`` is that `Host` is missing or repeated.
    private mutating func replaceAbsoluteTarget() {
        guard let scheme = uri.firstRange(of: "://"), Self.isScheme(uri[..<scheme.lowerBound]) else { return }
        let count = headers["Host"].count
        guard count == 1 || count == 0 && version != .http1_1 else { return }
        let rest = uri[scheme.upperBound...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        headers.replaceOrAdd(name: "Host", value: String(rest[..<end]))
        let target = rest[end...]
        uri = target.hasPrefix("/") ? String(target) : "/\(target)"
    }

    /// The refusal of a request without a valid host; `nil` when the host is valid.
    var hostProblem: HTTPRefusal? {
        let hosts = headers["Host"]
        guard hosts.count <= 1 else { return .repeatedHost }
        guard let host = hosts.first else { return version == .http1_1 ? .missingHost : nil }
        return Self.isHost(host) ? nil : .brokenHost
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy { isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) }
    }

    /// Whether a text is a host with or without a port (RFC 3986, 3.2.2), or empty, which stands for none.
    private static func isHost(_ text: String) -> Bool {
        var name = text.utf8[...]
        if name.first == UInt8(ascii: "[") {
            guard let end = name.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let address = name[name.index(after: name.startIndex)..<end]
            let isAddress = address.allSatisfy { isLetter($0) || isDigit($0) || ":.-_~%".utf8.contains($0) }
            return isAddress && !address.isEmpty && isPort(name[name.index(after: end)...])
        }
        let end = name.firstIndex(of: UInt8(ascii: ":")) ?? name.endIndex
        guard isPort(name[end...]) else { return false }
        name = name[..<end]
        return name.allSatisfy { isLetter($0) || isDigit($0) || "-._~%!$&'()*+,;=".utf8.contains($0) }
    }

    /// Whether a text is empty, or a port behind its colon.
    private static func isPort(_ text: Substring.UTF8View) -> Bool {
        text.isEmpty || text.first == UInt8(ascii: ":") && text.dropFirst().allSatisfy(isDigit)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }
}
