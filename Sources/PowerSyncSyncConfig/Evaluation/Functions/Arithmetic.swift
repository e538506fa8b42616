import Foundation

/// Arithmetic of the default engine: operands are cast to numbers, integers stay integers and become reals when they
/// leave 64 bits, what is not a number is `NULL`.
enum Arithmetic {
    /// The value of an operator.
    static func evaluate(_ function: PlanFunction, _ values: [SQLValue]) -> SQLValue {
        switch function {
        case .abs: return absolute(values[0])
        case .round: return rounded(values)
        case .bitAnd, .bitOr, .shiftLeft, .shiftRight:
            guard let lhs = values[0].bits, let rhs = values[1].bits else { return .null }
            switch function {
            case .bitAnd: return .integer(lhs & rhs)
            case .bitOr: return .integer(lhs | rhs)
            // A negative distance shifts the other way; too far leaves only the sign.
            case .shiftLeft: return .integer(rhs == .min ? lhs >> 64 : lhs << rhs)
            default: return .integer(rhs == .min ? 0 : lhs >> rhs)
            }
        default:
            switch (values[0].numeric, values[1].numeric) {
            case (.null, _), (_, .null): return .null
            case (.integer(let lhs), .integer(let rhs)): return integers(function, lhs, rhs)
            case _ where function == .remainder: return remainder(values[0].bits, values[1].bits)
            case (let lhs, let rhs): return reals(function, lhs, rhs)
            }
        }
    }

    private static func integers(_ function: PlanFunction, _ lhs: Int64, _ rhs: Int64) -> SQLValue {
        switch function {
        case .remainder:
            return rhs == 0 ? .null : .integer(rhs == -1 ? 0 : lhs % rhs)
        case .divide where rhs == 0:
            return .null
        default:
            let (result, hasOverflow) =
                switch function {
                case .add: lhs.addingReportingOverflow(rhs)
                case .subtract: lhs.subtractingReportingOverflow(rhs)
                case .multiply: lhs.multipliedReportingOverflow(by: rhs)
                default: lhs.dividedReportingOverflow(by: rhs)
                }
            return hasOverflow ? reals(function, .integer(lhs), .integer(rhs)) : .integer(result)
        }
    }

    private static func reals(_ function: PlanFunction, _ lhs: SQLValue, _ rhs: SQLValue) -> SQLValue {
        guard let lhs = lhs.double, let rhs = rhs.double else { return .null }
        switch function {
        case .add: return real(lhs + rhs)
        case .subtract: return real(lhs - rhs)
        case .multiply: return real(lhs * rhs)
        default: return rhs == 0 ? .null : real(lhs / rhs)
        }
    }

    /// The remainder of numbers of which one is real: that of their integers, as a real.
    private static func remainder(_ lhs: Int64?, _ rhs: Int64?) -> SQLValue {
        guard let lhs, let rhs, rhs != 0 else { return .null }
        return .real(rhs == -1 ? 0 : Double(lhs % rhs))
    }

    private static func real(_ number: Double) -> SQLValue { number.isNaN ? .null : .real(number) }

    /// The absolute value: an integer of an integer, of anything else a real.
    private static func absolute(_ value: SQLValue) -> SQLValue {
        switch value {
        case .integer(.min): .real(9_223_372_036_854_775_808.0)
        case .integer(let integer): .integer(Swift.abs(integer))
        default: value.numeric.double.map { .real(Swift.abs($0)) } ?? .null
        }
    }

    /// `round(x, n)` with up to 30 digits: always a real, as in SQLite.
    ///
    /// What is rounded is the product of x and 10ⁿ as a double. Where x is written like a tie, such as 1.005, the result may
    /// differ from that of SQLite, whose versions differ from each other: 1.0 here, 1.01 in SQLite 3.40.
    private static func rounded(_ values: [SQLValue]) -> SQLValue {
        guard let number = values[0].numeric.double else { return .null }
        var digits: Int64 = 0
        if values.count > 1 {
            guard let count = values[1].bits else { return .null }
            digits = min(max(count, 0), 30)
        }
        guard number.isFinite, Swift.abs(number) < 4_503_599_627_370_496 else { return .real(number) }
        let factor = pow(10, Double(digits))
        let scaled = (number * factor).rounded(.toNearestOrAwayFromZero) / factor
        return .real(scaled.isFinite ? scaled : number)
    }
}

extension SQLValue {
    /// A number as a double.
    fileprivate var double: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .real(let number): number
        default: nil
        }
    }
}
