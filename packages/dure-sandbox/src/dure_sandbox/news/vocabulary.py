"""What the articles are made of: names that do not exist and sentences about their economy."""

from typing import Final

COMPANIES: Final = (
    *("한울전자", "도담바이오", "누리에너지", "가온모터스", "라온반도체", "미리내조선", "솔빛화학"),
    *("아라해운", "다온건설", "해든식품", "벼리소프트", "은가람물산", "나래항공", "온새미로보틱스"),
)
BANKS: Final = ("두레은행", "한강은행", "새누리은행", "온빛은행", "나루저축은행", "들꽃캐피탈")
PEOPLE: Final = (
    *("김도현", "이서윤", "박지훈", "최하은", "정우진", "강민서", "조예린", "윤태호", "장수빈"),
    *("임재원", "한소율", "오준영", "서다인", "신유찬"),
)
ROLES: Final = (
    *("수석연구원", "이코노미스트", "애널리스트", "선임연구위원", "교수", "센터장", "본부장"),
)
INSTITUTES: Final = (
    *(
        "두레경제연구원",
        "한빛금융연구소",
        "나라산업연구원",
        "온누리증권 리서치센터",
        "가람대 경제학과",
    ),
)
PLACES: Final = (
    *(
        "서울 마포구",
        "경기 성남시",
        "인천 송도",
        "부산 해운대구",
        "세종시",
        "대구 수성구",
        "대전 유성구",
    ),
)
COUNTRIES: Final = ("미국", "중국", "일본", "독일", "베트남", "인도", "유로존", "영국")

TERMS: Final = {
    "기준금리": "중앙은행이 금융기관과 거래할 때 기준으로 삼는 금리",
    "가산금리": "대출 기준금리에 신용도와 비용을 반영해 덧붙이는 금리",
    "총부채원리금상환비율": "연 소득에서 모든 대출의 원리금 상환액이 차지하는 비율",
    "공매도": "가지고 있지 않은 주식을 빌려서 판 뒤 나중에 사서 갚는 거래",
    "자사주 매입": "회사가 시장에서 자기 회사의 주식을 사들이는 일",
    "배당수익률": "주가에서 한 해 배당금이 차지하는 비율",
    "소비자물가지수": "가계가 사는 상품과 서비스의 가격 변화를 재는 지표",
    "경상수지": "상품과 서비스, 소득을 외국과 주고받은 차이",
    "환헤지": "환율 변동에 따른 손실을 미리 막아 두는 거래",
    "벤처투자조합": "여러 출자자의 돈을 모아 신생 기업에 투자하는 조합",
    "전세가율": "매매가에서 전세 보증금이 차지하는 비율",
    "분양가상한제": "새 아파트의 분양 가격을 일정한 선 아래로 묶는 제도",
    "공급망": "원료에서 완제품까지 물건이 만들어지고 옮겨지는 길",
    "기업어음": "기업이 짧은 기간 돈을 빌리려고 발행하는 어음",
    "순이자마진": "금융기관이 자산을 굴려 번 이자 수익에서 조달 비용을 뺀 비율",
}

TOPICS: Final = {
    "259": (
        ("{bank}, 주택담보대출 금리 {p}%p {move}", "가산금리"),
        ("{bank} 3분기 순이익 {won}억원…{word}", "순이자마진"),
        ("기준금리 {word}에 예금 금리도 {move}", "기준금리"),
        ("{bank}, 청년 전용 적금 출시…연 {rate}%", "기준금리"),
        ("가계대출 한 달 새 {won}억원 {move}", "총부채원리금상환비율"),
    ),
    "258": (
        ("{company}, 장중 {rate}% {move}…거래대금 {won}억원", "공매도"),
        ("{company}, {won}억원 규모 자사주 매입 결정", "자사주 매입"),
        ("외국인 {n}거래일 연속 순매수…{company}에 집중", "환헤지"),
        ("{company} 배당 {word}…배당수익률 {rate}%", "배당수익률"),
    ),
    "261": (
        ("{company}, {place}에 {won}억원 투자해 공장 증설", "공급망"),
        ("{company}, {country} 업체와 {n}년 장기 공급 계약", "공급망"),
        ("{company} 3분기 영업이익 {won}억원…{word}", "기업어음"),
        ("{company} 노사, 임금 {rate}% 인상 잠정 합의", "소비자물가지수"),
    ),
    "771": (
        ("로봇 스타트업 {company}, {won}억원 투자 유치", "벤처투자조합"),
        ("중소기업 체감경기 {n}개월째 {move}", "기업어음"),
        ("{place} 창업 단지에 {n}개사 입주", "벤처투자조합"),
        ("{company}, {country} 박람회서 {n}만달러 계약", "환헤지"),
    ),
    "260": (
        ("{place} 아파트값 {n}주 연속 {move}", "전세가율"),
        ("{place} 분양 단지 경쟁률 {n}대 1", "분양가상한제"),
        ("전세가율 {rate2}%로 {move}…{place} 두드러져", "전세가율"),
        ("{company}, {place} 재개발 사업 수주…{won}억원", "분양가상한제"),
    ),
    "262": (
        ("{country} 물가 {rate}% {move}…금리 전망 엇갈려", "소비자물가지수"),
        ("{country} 증시 {word}…환율 {fx}원 마감", "환헤지"),
        ("{country}, 수입 관세 {rate}%로 조정 검토", "공급망"),
        ("국제 유가 {n}일째 {move}…배럴당 {n2}달러", "경상수지"),
    ),
    "310": (
        ("배추 한 포기 {n2}00원…장바구니 물가 {move}", "소비자물가지수"),
        ("{company}, 간편식 가격 {rate}% 인상", "소비자물가지수"),
        ("편의점 {n}곳 중 하나는 무인…{place}서 늘어", "공급망"),
        ("여름 휴가 예약 {rate2}% {move}…국내 여행 선호", "소비자물가지수"),
    ),
    "263": (
        ("지난달 수출 {rate}% {move}…경상수지 {n}개월 연속 흑자", "경상수지"),
        ("정부, {won}억원 규모 민생 대책 발표", "소비자물가지수"),
        ("고용률 {rate2}%…{place} 취업자 {n}만명 {move}", "경상수지"),
        ("올해 성장률 전망 {rate}%로 {word}", "기준금리"),
    ),
}
"""Headlines by section, each with the term that its article explains."""

MOVES: Final = ("상승", "하락", "반등", "둔화", "확대", "축소")
WORDS: Final = (
    "시장 예상 웃돌아",
    "예상 밑돌아",
    "2년 만에 최고",
    "석 달 만에 최저",
    "전년과 비슷",
)

LEADS: Final = (
    "{about}|이가 {when} {number}|으로 집계됐다고 {institute}|이가 {day}일 밝혔다.",
    "{institute}|은는 {day}일 보고서에서 {about} 흐름이 {when} 뚜렷해졌다고 진단했다.",
    "{about}|을를 둘러싼 관심이 커지는 가운데 {when} 관련 지표가 {number}|을를 기록했다.",
)
SENTENCES: Final = (
    "지난해 같은 기간과 비교하면 {rate}% {move}한 수치다.",
    "직전 분기의 {number}보다 {move} 폭이 커졌다.",
    "{company}|은는 원가 부담이 줄면서 수익성이 개선됐다고 설명했다.",
    "업계에서는 {country} 수요가 회복되면서 주문이 늘어난 영향으로 보고 있다.",
    "{person} {institute} {role}|은는 “당분간 변동성이 이어질 수 있다”고 말했다.",
    "{person} {role}|은는 “금리와 환율을 함께 보아야 한다”며 “속단하기는 이르다”고 덧붙였다.",
    "{place}에서는 이런 움직임이 다른 지역보다 먼저 나타났다.",
    "{bank}|은는 관련 상품의 한도를 {won}억원으로 늘리기로 했다.",
    "정부는 다음 달까지 세부 방안을 마련해 발표할 계획이다.",
    "다만 {country} 경기의 불확실성은 여전히 부담으로 꼽힌다.",
    "소비자 {n}명을 대상으로 한 조사에서는 응답자의 {rate2}%가 앞으로 더 나아질 것이라고 답했다.",
    "시장 참가자들은 오는 {day}일 나올 지표를 기다리고 있다.",
    "{company}|과와 {bank}|은는 관련 사업을 함께 추진하는 협약을 맺었다.",
    "환율은 달러당 {fx}원에 거래를 마쳤다.",
    "전문가들은 한 번의 수치로 추세를 판단해서는 안 된다고 조언한다.",
)
EXPLANATION: Final = "{term}|은는 {meaning}|이라고 할 수 있다."
FOLLOW_UP: Final = (
    "이후 {institute}|은는 집계 방식의 오류를 바로잡아 수치를 {number}|으로 정정했다."
)

ENGLISH_HEADLINES: Final = (
    "{latin} shares {verb} {rate}% after quarterly results",
    "Bank of Dure holds key rate at {rate}%, signals patience",
    "Exports {verb} {rate}% as chip demand shifts",
    "{latin} to invest {won} billion won in new plant",
)
LATIN: Final = ("Hanul Electronics", "Dodam Bio", "Raon Semiconductor", "Ara Shipping")
VERBS: Final = ("rise", "fall", "rebound", "slip")
ENGLISH_SENTENCES: Final = (
    "{latin} said on Monday that operating profit reached {won} billion won in the third quarter.",
    "Analysts at the Dure Institute expect the won to trade near {fx} per dollar this month.",
    "The benchmark rate is the rate at which the central bank deals with financial institutions.",
    "Exports have {verb2} {rate} percent from a year earlier, the ministry said.",
    "Investors are waiting for inflation figures due later this month.",
    "The company did not give guidance for the coming year, citing uncertain demand.",
    "Households reported tighter budgets in a survey of {n} consumers.",
)
