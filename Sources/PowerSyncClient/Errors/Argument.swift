package import Foundation
import PowerSyncProtocol

/// Checks of what apps pass to public calls: an error at the call, before anything is stored or sent.
///
/// A value that only the service would refuse is refused here if it would make the service refuse everything else as well.
package enum Argument {
    /// The longest name of a stream, in bytes.
    package static let longestName = 1_024
    /// The longest parameters of a connection or a stream, in bytes of JSON text: they are part of each request.
    package static let longestParameters = 65_536
    /// How many arrays and objects may be inside each other.
    ///
    /// Half of what is read: requests put parameters into objects of their own.
    package static let deepestNesting = 64
    /// The longest time that is waited for: one year.
    package static let longestTime = Duration.seconds(365 * 86_400)

    /// Checks a number of seconds.
    ///
    /// Infinity is fine: there is a longest time.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when it is negative or not a number.
    package static func check(seconds: TimeInterval, _ name: String) throws {
        guard seconds >= 0 else {
            throw PowerSyncError.notSeconds(name, seconds)
        }
    }

    /// Checks how long something may take.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when nothing could ever be done in that time.
    package static func check(limit: Duration, _ name: String) throws {
        guard limit > .zero else {
            throw PowerSyncError.notPositive(name, limit)
        }
    }

    /// Checks a text that names something.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when it is empty, has a NUL, which ends texts
    ///   for SQLite, or is too long.
    package static func check(name: String, of what: String) throws {
        guard !name.isEmpty else { throw PowerSyncError.emptyName(of: what) }
        guard !name.utf8.contains(0) else {
            throw PowerSyncError.nameWithNUL(of: what)
        }
        guard name.utf8.count <= longestName else {
            throw PowerSyncError.nameIsTooLong(of: what, name.utf8.count)
        }
    }

    /// Checks parameters.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for a number that JSON does not have, for values
    ///   that are nested too deeply to be read by a service, and for too long a text.
    package static func check(parameters: JsonParam, of what: String) throws {
        try check(.object(parameters), of: what, depth: 1)
        let count = JSONObject(parameters).text.utf8.count
        guard count <= longestParameters else {
            throw PowerSyncError.parametersAreTooLong(of: what, count)
        }
    }

    /// Checks a value; `depth` counts the arrays and objects around it, and it if it is one.
    private static func check(_ value: JsonValue, of what: String, depth: Int) throws {
        guard depth <= deepestNesting || !value.isContainer else {
            throw PowerSyncError.parametersAreTooDeep(of: what)
        }
        switch value {
        case .null, .bool, .int, .string: break
        case .double(let number):
            guard number.isFinite else {
                throw PowerSyncError.notJSON(number, in: what)
            }
        case .array(let values):
            for value in values { try check(value, of: what, depth: depth + 1) }
        case .object(let members):
            for value in members.values { try check(value, of: what, depth: depth + 1) }
        }
    }
}

extension JsonValue {
    fileprivate var isContainer: Bool {
        switch self {
        case .array, .object: true
        case .null, .bool, .int, .double, .string: false
        }
    }
}
