package import PowerSyncProtocol
package import PowerSyncSyncConfig

/// Turns the texts of one column's values into what rows are made of (docs/postgres.md "Types").
///
/// A table has one for each column, made when its description is read. Snapshots and the change stream deliver the same
/// texts, and so the same values, when both connections have the settings of ``PostgresSession``.
///
/// ```swift
/// let decoder = PostgresValueDecoder(1184, in: types, options: plan.valueOptions)
/// var problem: PostgresValueProblem?
/// decoder.value(of: text, problem: &problem)  // "2024-03-01T10:00:00.500000Z"
/// ```
package struct PostgresValueDecoder: Sendable {
    /// How many arrays, composites and ranges may be inside each other.
    package static let maximumNesting = 20

    /// The name of the type, for problems.
    private let typeName: String
    private let root: ValueForm
    private let forms: ValueForms
    private let scalars: ScalarDecoder

    /// Creates a decoder.
    ///
    /// - Parameters:
    ///   - type: The type of the column.
    ///   - types: Knows the type, and those that it is made of. Values of unknown types are passed on as printed.
    ///   - options: How values are written.
    package init(_ type: PostgresOID, in types: PostgresTypeRegistry, options: SourceValueOptions) {
        typeName = types[type]?.name ?? "\(type)"
        forms = ValueForms(type, in: types, writesDeclaredTypesAsJSON: options.writesDeclaredTypesAsJSON)
        root = forms.root
        scalars = ScalarDecoder(times: TimeForm(options))
    }

    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - text: The text of the value, UTF-8.
    ///   - problem: Set when the value is not what a reader would expect; otherwise left as it is.
    /// - Returns: The value; never fails.
    package func value(of text: ByteView, problem: inout PostgresValueProblem?) -> SQLValue {
        switch root {
        case .text, .json:
            return .text(text.string)
        case .array, .composite, .range, .multirange, .line:
            return nested(text, problem: &problem)
        default:
            switch scalars.value(of: text, root) {
            case .value(let value):
                return value
            case .yearOutOfRange:
                problem = PostgresValueProblem(reason: .yearOutOfRange, type: typeName)
            case .unreadable:
                problem = PostgresValueProblem(reason: .unreadable, type: typeName)
            }
            return .null
        }
    }

    private func nested(_ text: ByteView, problem: inout PostgresValueProblem?) -> SQLValue {
        // The whole value, not a part of one: clients of the established service see the bare word.
        if case .range = root, text.equals("empty") { return "empty" }
        var writer = NestedValueWriter(forms: forms, scalars: scalars)
        do throws(NestedValueWriter.Failure) {
            try writer.write(text, root, depth: 0)
        } catch {
            switch error {
            case .nestedTooDeep:
                problem = PostgresValueProblem(reason: .nestedTooDeep, type: typeName)
                return .null
            case .unparsed:
                problem = PostgresValueProblem(reason: .unparsed, type: typeName)
                return .text(text.string)
            }
        }
        if writer.hasLostYears { problem = PostgresValueProblem(reason: .yearOutOfRange, type: typeName) }
        return .text(writer.json)
    }
}
