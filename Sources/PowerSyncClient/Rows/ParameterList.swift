public import Foundation
import PowerSyncProtocol

/// Values for `IN`, as one parameter.
///
/// ```swift
/// let todos = try await database.getAll(
///     sql: "SELECT title FROM todos WHERE list_id IN (SELECT value FROM json_each(?)) ORDER BY title",
///     parameters: [ParameterList(["l1", "l2"])]
/// ) { try $0.getString(index: 0) }
/// ```
///
/// It is bound as the text of a JSON array, so the statement is the same for any number of values, none included, and no limit of parameters
/// applies. Indexes are used as for any other `IN`.
public struct ParameterList: PowerSyncDataTypeConvertible, Hashable, Sendable {
    private let json: String

    /// The JSON array, a text.
    public var psDataType: PowerSyncDataType? { .string(json) }

    /// Creates a list of texts.
    public init(_ values: some Sequence<String>) {
        self.init(elements: values.map { JSONText.string($0) })
    }

    /// Creates a list of integers.
    public init(_ values: some Sequence<some FixedWidthInteger>) {
        self.init(elements: values.map { "\($0)" })
    }

    /// Creates a list of ids, which are compared with texts in lower case.
    public init(_ values: some Sequence<UUID>) {
        self.init(values.map { $0.uuidString.lowercased() })
    }

    private init(elements: [String]) {
        json = "[\(elements.joined(separator: ","))]"
    }
}
