import PowerSyncProtocol

/// A geometry in well-known binary form, also with PostGIS's extensions, as bytes or as hexadecimal digits.
///
/// ```
/// 1 byte    0 = big endian, 1 = little endian
/// 4 bytes   type 1…7; + 0x80000000 or + 1000 has z, + 0x40000000 or + 2000 has m, + 0x20000000 has an SRID
/// 4 bytes   SRID, if there is one
/// then      point: coordinates; line: count, coordinates; polygon: count, rings (lines without head);
///           types 4…7: count, geometries with heads of their own
/// ```
struct Geometry {
    /// What it is made of; a point without coordinates is empty.
    indirect enum Shape {
        case point([Double])
        case line([[Double]])
        case polygon([[[Double]]])
        /// Several geometries; the kind is 4 (points), 5 (lines), 6 (polygons) or 7 (anything).
        case collection(kind: UInt32, [Geometry])
    }

    /// What it is made of.
    private var shape: Shape
    /// Whether each point has a height behind x and y.
    private var hasZ: Bool
    /// Whether each point has a measure, the last of its coordinates.
    private var hasM: Bool

    /// The value of one of the functions `st_…`.
    ///
    /// - Throws: ``EvaluationError/invalidGeometry``.
    static func evaluate(_ function: PlanFunction, _ value: SQLValue) throws(EvaluationError) -> SQLValue {
        let bytes: [UInt8]?
        switch value {
        case .null, .integer, .real: return .null
        case .blob(let blob): bytes = blob
        case .text(let text): bytes = [UInt8](hexadecimal: text)
        }
        guard let bytes, let geometry = Geometry(wellKnownBinary: bytes) else { throw .invalidGeometry }
        switch function {
        case .geoX, .geoY:
            guard case .point(let coordinates) = geometry.shape, coordinates.count >= 2 else { return .null }
            let coordinate = coordinates[function == .geoX ? 0 : 1]
            return coordinate.isNaN ? .null : .real(coordinate)
        case .geoText: return .text(geometry.wellKnownText)
        default: return .text(geometry.geoJSON)
        }
    }

    fileprivate init(_ shape: Shape, hasZ: Bool, hasM: Bool) {
        (self.shape, self.hasZ, self.hasM) = (shape, hasZ, hasM)
    }

    private init?(wellKnownBinary bytes: [UInt8]) {
        var reader = GeometryReader(bytes: bytes)
        guard let geometry = reader.geometry(depth: 0), reader.position == bytes.count else { return nil }
        self = geometry
    }
}

/// Reads well-known binary form.
private struct GeometryReader {
    let bytes: [UInt8]
    var position = 0

    /// How deep collections may be nested.
    private static let maximumDepth = 32

    mutating func geometry(depth: Int) -> Geometry? {
        guard depth < Self.maximumDepth, position < bytes.count, bytes[position] <= 1 else { return nil }
        let isLittle = bytes[position] == 1
        position += 1
        guard let head = integer(isLittle) else { return nil }
        if head & 0x2000_0000 != 0, integer(isLittle) == nil { return nil }
        let code = head & 0x0fff_ffff
        let hasZ = head & 0x8000_0000 != 0 || code / 1000 == 1 || code / 1000 == 3
        let hasM = head & 0x4000_0000 != 0 || code / 1000 == 2 || code / 1000 == 3
        return shape(code % 1000, dimensions: 2 + (hasZ ? 1 : 0) + (hasM ? 1 : 0), isLittle, depth: depth)
            .map { Geometry($0, hasZ: hasZ, hasM: hasM) }
    }

    private mutating func shape(_ kind: UInt32, dimensions: Int, _ isLittle: Bool, depth: Int) -> Geometry.Shape? {
        switch kind {
        case 1:
            return coordinates(dimensions, isLittle).map { .point($0.prefix(2).allSatisfy(\.isNaN) ? [] : $0) }
        case 2:
            return line(dimensions, isLittle).map(Geometry.Shape.line)
        case 3:
            guard let count = count(isLittle, bytesEach: 4) else { return nil }
            var rings: [[[Double]]] = []
            for _ in 0..<count {
                guard let ring = line(dimensions, isLittle) else { return nil }
                rings.append(ring)
            }
            return .polygon(rings)
        case let kind where (4...7).contains(kind):
            guard let count = count(isLittle, bytesEach: 5) else { return nil }
            var parts: [Geometry] = []
            for _ in 0..<count {
                guard let part = geometry(depth: depth + 1) else { return nil }
                parts.append(part)
            }
            return .collection(kind: kind, parts)
        default:
            return nil
        }
    }

    private mutating func line(_ dimensions: Int, _ isLittle: Bool) -> [[Double]]? {
        guard let count = count(isLittle, bytesEach: dimensions * 8) else { return nil }
        var points: [[Double]] = []
        for _ in 0..<count {
            guard let point = coordinates(dimensions, isLittle) else { return nil }
            points.append(point)
        }
        return points
    }

    /// A count of things that are still there.
    private mutating func count(_ isLittle: Bool, bytesEach: Int) -> Int? {
        guard let count = integer(isLittle), Int(count) <= (bytes.count - position) / bytesEach else { return nil }
        return Int(count)
    }

    private mutating func coordinates(_ dimensions: Int, _ isLittle: Bool) -> [Double]? {
        var coordinates: [Double] = []
        for _ in 0..<dimensions {
            guard let bits = unsigned(8, isLittle) else { return nil }
            coordinates.append(Double(bitPattern: bits))
        }
        return coordinates
    }

    private mutating func integer(_ isLittle: Bool) -> UInt32? {
        unsigned(4, isLittle).map(UInt32.init)
    }

    private mutating func unsigned(_ width: Int, _ isLittle: Bool) -> UInt64? {
        guard position + width <= bytes.count else { return nil }
        let field = bytes[position..<(position + width)]
        position += width
        return isLittle
            ? field.reversed().reduce(0) { $0 << 8 | UInt64($1) } : field.reduce(0) { $0 << 8 | UInt64($1) }
    }
}

// MARK: - Texts

extension Geometry {
    private static let names: [UInt32: (text: String, json: String)] = [
        4: ("MULTIPOINT", "MultiPoint"), 5: ("MULTILINESTRING", "MultiLineString"),
        6: ("MULTIPOLYGON", "MultiPolygon"), 7: ("GEOMETRYCOLLECTION", "GeometryCollection"),
    ]

    /// `POINT(1 2)`, `POINT ZM (1 2 3 4)`, `POINT EMPTY` and the like.
    var wellKnownText: String {
        let name =
            switch shape {
            case .point: "POINT"
            case .line: "LINESTRING"
            case .polygon: "POLYGON"
            case .collection(let kind, _): Self.names[kind]?.text ?? ""
            }
        let dimensions = hasZ || hasM ? " \(hasZ ? "Z" : "")\(hasM ? "M" : "") " : ""
        if isEmpty { return "\(name)\(dimensions.isEmpty ? " " : dimensions)EMPTY" }
        return "\(name)\(dimensions)(\(body))"
    }

    private var isEmpty: Bool {
        switch shape {
        case .point(let point): point.isEmpty
        case .line(let points): points.isEmpty
        case .polygon(let rings): rings.isEmpty
        case .collection(_, let parts): parts.isEmpty
        }
    }

    private var body: String {
        func text(_ point: [Double]) -> String { point.map(RealText.plain).joined(separator: " ") }
        func text(_ points: [[Double]]) -> String { points.map { text($0) }.joined(separator: ",") }
        switch shape {
        case .point(let point): return text(point)
        case .line(let points): return text(points)
        case .polygon(let rings): return rings.map { "(\(text($0)))" }.joined(separator: ",")
        case .collection(let kind, let parts):
            return parts.map { kind == 7 ? $0.wellKnownText : kind == 4 ? $0.body : "(\($0.body))" }.joined(
                separator: ","
            )
        }
    }

    /// `{"type":"Point","coordinates":[1,2]}` and the like.
    ///
    /// The format knows heights, and no measures.
    var geoJSON: String {
        switch shape {
        case .point: #"{"type":"Point","coordinates":\#(coordinates)}"#
        case .line: #"{"type":"LineString","coordinates":\#(coordinates)}"#
        case .polygon: #"{"type":"Polygon","coordinates":\#(coordinates)}"#
        case .collection(let kind, let parts):
            kind == 7
                ? #"{"type":"GeometryCollection","geometries":[\#(parts.map(\.geoJSON).joined(separator: ","))]}"#
                : #"{"type":"\#(Self.names[kind]?.json ?? "")","coordinates":\#(coordinates)}"#
        }
    }

    private var coordinates: String {
        func text(_ point: [Double]) -> String {
            "[\(point.prefix(hasZ ? 3 : 2).map { $0.isFinite ? RealText.plain($0) : "null" }.joined(separator: ","))]"
        }
        func text(_ points: [[Double]]) -> String { "[\(points.map { text($0) }.joined(separator: ","))]" }
        switch shape {
        case .point(let point): return text(point)
        case .line(let points): return text(points)
        case .polygon(let rings): return "[\(rings.map { text($0) }.joined(separator: ","))]"
        case .collection(_, let parts): return "[\(parts.map(\.coordinates).joined(separator: ","))]"
        }
    }
}
