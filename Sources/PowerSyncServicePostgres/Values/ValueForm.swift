/// What is done with the text of a value.
enum ValueForm: Sendable {
    /// Passed on as printed.
    case text
    case boolean
    case integer
    case real
    case bytes
    /// JSON text: passed on as it is, and a part of the JSON inside of an array or a composite.
    case json
    case date
    case time
    case timestamp
    case timestampWithZone
    /// A position in the log, padded.
    case walPosition
    /// `{a,b,c}` as JSON array of reals.
    case line
    case array(of: Index, delimiter: UInt8)
    case composite([Member])
    case range(of: Index)
    case multirange(of: Index)

    /// The position of a form in ``ValueForms``.
    typealias Index = Int

    /// A column of a composite type.
    struct Member: Sendable {
        /// The name as JSON string, with its quotes and the colon.
        var key: [UInt8]
        var form: Index
    }
}

/// The forms of a type, and of all types that it is made of.
///
/// Types refer to each other by position: one that is used twice is there once, and one that would contain itself, which
/// PostgreSQL does not allow, does no harm.
struct ValueForms: Sendable {
    private var forms: [ValueForm] = []
    private var positions: [PostgresOID: ValueForm.Index] = [:]
    private let writesDeclaredTypesAsJSON: Bool

    /// Finds the forms of a type.
    init(_ type: PostgresOID, in types: PostgresTypeRegistry, writesDeclaredTypesAsJSON: Bool) {
        self.writesDeclaredTypesAsJSON = writesDeclaredTypesAsJSON
        _ = position(of: type, in: types)
    }

    /// The form of the type itself.
    var root: ValueForm { forms[0] }

    subscript(position: ValueForm.Index) -> ValueForm { forms[position] }

    private mutating func position(of type: PostgresOID, in types: PostgresTypeRegistry) -> ValueForm.Index {
        if let known = positions[type] { return known }
        let position = forms.count
        positions[type] = position
        forms.append(.text)
        forms[position] = form(of: type, in: types)
        return position
    }

    private mutating func form(of oid: PostgresOID, in types: PostgresTypeRegistry) -> ValueForm {
        guard let type = types[oid] else { return .text }
        switch type.kind {
        case .enumeration:
            return .text
        case .base:
            return type.isBuiltIn ? Self.base(oid) : .text
        case .domain(let base):
            return forms[position(of: base, in: types)]
        case .array(let element, let delimiter):
            guard writesDeclaredTypesAsJSON || Self.isBuiltInBase(types[element]) else { return .text }
            return .array(of: position(of: element, in: types), delimiter: delimiter)
        case .composite(let fields):
            guard writesDeclaredTypesAsJSON else { return .text }
            return .composite(
                fields.map { field in
                    ValueForm.Member(
                        key: JSONWriter.key(field.name),
                        form: position(of: field.type, in: types)
                    )
                }
            )
        case .range(let subtype):
            return writesDeclaredTypesAsJSON ? .range(of: position(of: subtype, in: types)) : .text
        case .multirange(let range):
            return writesDeclaredTypesAsJSON ? .multirange(of: position(of: range, in: types)) : .text
        }
    }

    private static func isBuiltInBase(_ type: PostgresType?) -> Bool {
        guard let type, case .base = type.kind else { return false }
        return type.isBuiltIn
    }

    private static func base(_ oid: PostgresOID) -> ValueForm {
        switch oid.rawValue {
        case 16: .boolean
        case 20, 21, 23, 26: .integer
        case 700, 701: .real
        case 17: .bytes
        case 114, 3802: .json
        case 1082: .date
        case 1083: .time
        case 1114: .timestamp
        case 1184: .timestampWithZone
        case 3220: .walPosition
        case 628: .line
        default: .text
        }
    }
}
