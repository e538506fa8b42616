/// One variant of a query, before positions in the plan are known.
struct PlannedVariant {
    /// What becomes of rows of the output table.
    var evaluator: DataQuery
    /// How clients find the buckets.
    var way: PlannedWay
}

/// A way from a request to buckets, before positions in the plan are known.
struct PlannedWay {
    /// Where a key takes its values from.
    indirect enum Value {
        case request(Scalar)
        /// Output number `output` of the lookup at position `lookup` of ``PlannedWay/lookups``.
        case lookup(Int, output: Int)
        case intersection([Value])
    }

    /// A lookup of the variant.
    struct Lookup {
        /// What is read.
        enum Kind {
            /// A parameter index, with one value for each of its keys.
            case index(ParameterIndex, inputs: [Value])
            /// A function of the request.
            case function(FunctionLookup, argument: Scalar)
        }

        /// What is read.
        var kind: Kind
        /// The stage: later than the stages of all inputs.
        var stage: Int
        /// The place of the table in the query.
        var range: Range<Int>

        /// Where the keys come from.
        var inputs: [Value] {
            switch kind {
            case .index(_, let inputs): inputs
            case .function(_, let argument): [.request(argument)]
            }
        }
    }

    /// The lookups in an order in which inputs come first.
    var lookups: [Lookup] = []
    /// One value for each partition key.
    var instantiation: [Value] = []
    /// What must be true of the request.
    var requestFilters: [Scalar] = []
    /// The priority of the buckets; `nil` for that of the stream.
    var priority: Int32?
}

// MARK: - Warnings

extension PlannedWay {
    /// The origin of the values of a key.
    private enum Trust {
        /// The verified token: the client has no influence.
        case authenticated
        /// The client.
        case unauthenticated
        /// There is no value.
        case neutral

        /// One trusted value among several is enough: all of them have to fit.
        static func merging(_ all: [Trust]) -> Trust {
            if all.contains(.authenticated) { return .authenticated }
            return all.contains(.unauthenticated) ? .unauthenticated : .neutral
        }
    }

    /// The place of a parameter that gives a client access to whatever it asks for, or `nil`.
    var dangerousParameter: Range<Int>? {
        var trust = Trust.merging(instantiation.map(trust))
        if trust == .neutral { trust = .merging(requestFilters.map(self.trust(_:))) }
        guard trust == .unauthenticated else { return nil }
        let scalars = (instantiation + lookups.flatMap(\.inputs)).flatMap(\.requestScalars) + requestFilters
        return scalars.lazy.compactMap(\.clientChosenRange).first
    }

    /// The tables of lookups that are read whole for every client, each with its place in the query.
    var unboundedTables: [(table: String, range: Range<Int>)] {
        var isBounded: [Bool] = []
        for lookup in lookups {
            isBounded.append(lookup.inputs.contains { $0.isBounded(isBounded) })
        }
        return zip(lookups, isBounded).compactMap { lookup, isBounded in
            guard !isBounded, case .index(let index, _) = lookup.kind else { return nil }
            return (index.table.description, lookup.range)
        }
    }

    /// The place of a subscription parameter without which there is no bucket, or `nil` when there may be one without it.
    var requiredSubscriptionParameter: Range<Int>? {
        let values = instantiation + lookups.flatMap(\.inputs)
        let scalars = values.flatMap(\.requestScalars)
        let required =
            scalars.first { $0.expression.isNullWithoutSubscription }
            ?? requestFilters.first { $0.expression.isFalseWithoutSubscription }
        return required.map { $0.clientChosenRange ?? $0.range }
    }

    private func trust(_ value: Value) -> Trust {
        switch value {
        case .request(let scalar): trust(scalar)
        case .lookup(let lookup, _): .merging(lookups[lookup].inputs.map(trust))
        case .intersection(let parts): .merging(parts.map(trust))
        }
    }

    private func trust(_ scalar: Scalar) -> Trust {
        let parts = scalar.expression.requestParts
        return parts.isEmpty || parts.contains(.auth) ? .authenticated : .unauthenticated
    }
}

extension PlannedWay.Value {
    /// The request values in the value itself.
    var requestScalars: [Scalar] {
        switch self {
        case .request(let scalar): [scalar]
        case .lookup: []
        case .intersection(let parts): parts.flatMap(\.requestScalars)
        }
    }

    /// Whether the value depends on the request, directly or through a lookup.
    fileprivate func isBounded(_ lookups: [Bool]) -> Bool {
        switch self {
        case .request: true
        case .lookup(let lookup, _): lookups[lookup]
        case .intersection(let parts): parts.contains { $0.isBounded(lookups) }
        }
    }
}
