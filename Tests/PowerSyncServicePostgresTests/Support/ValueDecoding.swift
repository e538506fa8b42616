import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServicePostgres

/// A value and what was noticed about it.
struct DecodedValue: Hashable, CustomStringConvertible {
    var value: SQLValue
    var reason: PostgresValueProblem.Reason?

    var description: String { "\(value)\(reason.map { " (\($0))" } ?? "")" }
}

/// Types for tests: the built-in ones and some that a database has created.
struct TestTypes {
    private(set) var registry = PostgresTypeRegistry()
    private var next: UInt32 = 20_000

    /// Adds a type, and one for its arrays.
    ///
    /// - Returns: The number of the type; that of its arrays is the next.
    @discardableResult
    mutating func add(_ name: String, _ kind: PostgresType.Kind, builtIn: UInt32? = nil) -> PostgresOID {
        let oid = PostgresOID(rawValue: builtIn ?? next)
        if builtIn == nil { next += 2 }
        registry.add(PostgresType(oid: oid, schema: "public", name: name, kind: kind))
        let array = PostgresOID(rawValue: oid.rawValue + 1)
        registry.add(
            PostgresType(
                oid: array,
                schema: "public",
                name: "_\(name)",
                kind: .array(of: oid, delimiter: UInt8(ascii: ","))
            )
        )
        return oid
    }

    func decode(
        _ type: PostgresOID,
        _ text: String,
        _ options: SourceValueOptions = SourceValueOptions()
    )
        -> DecodedValue
    {
        let decoder = PostgresValueDecoder(type, in: registry, options: options)
        var problem: PostgresValueProblem?
        let value = ByteView.of(text) { decoder.value(of: $0, problem: &problem) }
        return DecodedValue(value: value, reason: problem?.reason)
    }
}

extension PostgresOID {
    /// The type of the arrays of a type that ``TestTypes`` has added.
    var array: PostgresOID { PostgresOID(rawValue: rawValue + 1) }
}

extension SourceValueOptions {
    /// Those of the first edition.
    static var legacy: SourceValueOptions {
        var options = SourceValueOptions()
        options.timestampsISO8601 = false
        options.writesDeclaredTypesAsJSON = false
        return options
    }

    /// Those of the current edition, with the custom types as printed.
    static var rawCustomTypes: SourceValueOptions {
        var options = SourceValueOptions()
        options.writesDeclaredTypesAsJSON = false
        return options
    }

    /// Those of the current edition, with fewer digits.
    static func precision(_ precision: TimestampPrecision) -> SourceValueOptions {
        var options = SourceValueOptions()
        options.timestampMaximumPrecision = precision
        return options
    }
}
