/// The names of a certificate's subject and issuer, for messages.
///
/// A certificate is DER: SEQUENCE { SEQUENCE { \[0\] version, INTEGER serial, SEQUENCE algorithm, SEQUENCE issuer, SEQUENCE validity,
/// SEQUENCE subject, … } … }. A name is a SEQUENCE of SETs of SEQUENCE { OID, string }.
struct CertificateNames {
    /// The issuer: `CN=MySQL_Server_9.7.4_Auto_Generated_CA_Certificate`; its parts are joined by commas.
    let issuer: String

    /// Reads the names of a certificate.
    ///
    /// - Returns: `nil` for bytes that are not a certificate.
    init?(_ der: [UInt8]) {
        var all = DERReader(der[...])
        guard var certificate = all.next(0x30), var content = certificate.next(0x30) else { return nil }
        _ = content.next(0xA0)
        guard content.next(0x02) != nil, content.next(0x30) != nil, let issuer = content.next(0x30) else { return nil }
        self.issuer = Self.text(of: issuer)
    }

    /// The attributes that have a short name, the last three bytes of their OID 2.5.4.x.
    private static let attributes: [[UInt8]: String] = [[0x55, 4, 3]: "CN", [0x55, 4, 10]: "O", [0x55, 4, 11]: "OU"]

    private static func text(of name: DERReader) -> String {
        var name = name
        var parts: [String] = []
        while var set = name.next(0x31) {
            guard var attribute = set.next(0x30), let type = attribute.next(0x06), let value = attribute.next() else {
                continue
            }
            if let key = attributes[Array(type.bytes)] {
                parts.append("\(key)=\(String(decoding: value.bytes, as: UTF8.self))")
            }
        }
        return parts.joined(separator: ", ")
    }
}

/// Values of DER, one after the other: tag, length, content.
private struct DERReader {
    private(set) var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    /// The content of the next value; `nil`, and nothing is read, when there is none, or it has another tag.
    mutating func next(_ tag: UInt8? = nil) -> DERReader? {
        guard let first = bytes.first, tag == nil || tag == first, var length = bytes.dropFirst().first.map({ Int($0) })
        else {
            return nil
        }
        var content = bytes.dropFirst(2)
        if length >= 0x80 {
            let count = length - 0x80
            guard (1...3).contains(count), content.count >= count else { return nil }
            length = content.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            content = content.dropFirst(count)
        }
        guard content.count >= length else { return nil }
        bytes = content.dropFirst(length)
        return DERReader(content.prefix(length))
    }
}
