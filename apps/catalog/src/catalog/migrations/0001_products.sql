-- Products as their page last said, one row for each address.
create table catalog_product (
  url text primary key,
  host text not null,
  sku text not null,
  name text not null,
  brand text not null,
  category text not null,
  price integer not null check (price >= 0),
  list_price integer not null check (list_price >= price),
  rating double precision not null check (rating between 0 and 5),
  review_count integer not null check (review_count >= 0),
  stock integer not null check (stock >= 0),
  material text not null,
  colour text not null,
  weight_grams integer not null check (weight_grams > 0),
  description text not null,
  session text not null,
  saved_at double precision not null,
  saves integer not null
);

create index catalog_product_session on catalog_product (session);
