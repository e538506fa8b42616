package import PowerSyncProtocol

/// Why a value is not what a reader would expect.
///
/// Replication goes on; the decoder logs the problem, once for each column and reason.
package struct PostgresValueProblem: Sendable, Hashable {
    /// What happened.
    package enum Reason: Sendable, Hashable {
        /// Arrays, composites and ranges are inside each other more than 20 deep: the value is NULL.
        case nestedTooDeep
        /// A date with a year that clients cannot read, before 1 or after 9999: the value is NULL.
        case yearOutOfRange
        /// A value of a built-in type is not what PostgreSQL prints: it is NULL.
        case unreadable
        /// A value of an array, a composite or a range cannot be taken apart: clients get its text.
        case unparsed
    }

    /// What happened.
    package let reason: Reason
    /// The type of the column.
    package let type: String

    /// The code of the error catalogue, if there is one.
    package var code: ErrorCode? {
        reason == .nestedTooDeep ? .nestingTooDeep : nil
    }
}

extension PostgresValueProblem: CustomStringConvertible {
    /// A sentence for operators, without the value.
    package var description: String {
        switch reason {
        case .nestedTooDeep:
            "A value of type \(type) is nested more than \(PostgresValueDecoder.maximumNesting) deep: it is synced as NULL."
        case .yearOutOfRange:
            "A value of type \(type) has a year before 1 or after 9999: it is synced as NULL."
        case .unreadable:
            "A value of type \(type) is not in the form that PostgreSQL prints: it is synced as NULL."
        case .unparsed:
            "A value of type \(type) cannot be taken apart: it is synced as the text that PostgreSQL prints."
        }
    }
}
