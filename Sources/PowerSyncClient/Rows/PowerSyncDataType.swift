public import Foundation
import PowerSyncSQLite

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

extension PowerSyncDataType? {
    /// Binds the value to the parameter with this number, counted from 1; `nil` binds NULL.
    ///
    /// Texts and blobs are copied.
    ///
    /// - Returns: SQLite's result code.
    func bind(to statement: PreparedStatement, at index: CInt) -> CInt {
        switch self {
        case nil: statement.bindNull(at: index)
        case .bool(let value): statement.bind(Int64(value ? 1 : 0), at: index)
        case .int64(let value): statement.bind(value, at: index)
        case .int32(let value): statement.bind(Int64(value), at: index)
        case .double(let value): statement.bind(value, at: index)
        case .string(let value): statement.bind(value, at: index)
        case .data(let value): unsafe value.withUnsafeBytes { unsafe statement.bind(blob: $0, at: index, .copied) }
        }
    }
}
