public import PowerSyncUpload

/// What happens with a write.
///
/// ```swift
/// guard try write.belongsToUser(by: "owner_id", db) else { return .reject("The row belongs to somebody else.") }
/// return .apply
/// ```
public struct WriteDecision: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case apply
        case applyValues(JsonParam)
        case done
        case reject(EntryRejection.Code, String)
    }

    let kind: Kind

    /// It is applied as it is.
    public static let apply = WriteDecision(kind: .apply)

    /// It is applied with other values, for example with the owner that the server knows.
    ///
    /// - Parameter values: All columns to write, except for the id. Ignored when a row is deleted.
    /// - Returns: The decision.
    public static func apply(_ values: JsonParam) -> WriteDecision {
        WriteDecision(kind: .applyValues(values))
    }

    /// The closure has done what there was to do, for example in other tables; nothing else is written.
    public static let done = WriteDecision(kind: .done)

    /// It is not applied, now and later.
    ///
    /// What may succeed later is not for a rejection: throw an error, and the client tries again.
    ///
    /// - Parameters:
    ///   - message: Why, for the user of the app.
    ///   - code: Why, for the app.
    /// - Returns: The decision.
    public static func reject(_ message: String, code: EntryRejection.Code = .forbidden) -> WriteDecision {
        WriteDecision(kind: .reject(code, message))
    }
}
