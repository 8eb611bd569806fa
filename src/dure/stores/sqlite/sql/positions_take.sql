-- Fresh positions, as one range; they are never handed out twice.
update dure_seq set value = value + :number
returning value - :number + 1 as start, :number as number
