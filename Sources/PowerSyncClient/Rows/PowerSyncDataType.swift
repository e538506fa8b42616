public import Foundation

/// A value that can be bound to a parameter.
public enum PowerSyncDataType: Sendable {
    /// A boolean, bound as 0 or 1.
    case bool(Bool)
    /// A text.
    case string(String)
    /// A 64-bit integer.
    case int64(Int64)
    /// A 32-bit integer.
    case int32(Int32)
    /// A floating-point number.
    case double(Double)
    /// A blob.
    case data(Data)
}

/// A type of the app that can be bound to a parameter.
///
/// ```swift
/// extension UUID: PowerSyncDataTypeConvertible {
///     public var psDataType: PowerSyncDataType? { .string(uuidString.lowercased()) }
/// }
/// ```
public protocol PowerSyncDataTypeConvertible {
    /// The value to bind; `nil` for NULL.
    var psDataType: PowerSyncDataType? { get }
}

/// An optional whose wrapped type is unknown, for parameters that are wrapped more than once.
private protocol OptionalParameter {
    var wrappedParameter: Any? { get }
}

extension Optional: OptionalParameter {
    fileprivate var wrappedParameter: Any? { self }
}

extension PowerSyncDataType {
    /// The value of a parameter: `nil` for NULL.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for a type that cannot be bound.
    static func value(of parameter: Any?) throws -> PowerSyncDataType? {
        guard let parameter else { return nil }
        // The app's own conversion wins over ours.
        if let convertible = parameter as? any PowerSyncDataTypeConvertible { return convertible.psDataType }
        if let optional = parameter as? any OptionalParameter { return try value(of: optional.wrappedParameter) }
        switch parameter {
        case let value as PowerSyncDataType: return value
        case let value as Bool: return .bool(value)
        case let value as String: return .string(value)
        case let value as Substring: return .string(String(value))
        case let value as Double: return .double(value)
        case let value as Float: return .double(Double(value))
        case let value as Data: return .data(value)
        case let value as UUID: return .string(value.uuidString)
        case let value as any BinaryInteger: return try integer(value)
        default:
            throw PowerSyncError.cannotBind(parameter)
        }
    }

    private static func integer(_ value: any BinaryInteger) throws -> PowerSyncDataType {
        guard let value = Int64(exactly: value) else {
            throw PowerSyncError.integerIsTooLarge(value)
        }
        return .int64(value)
    }
}
